#include "ops/softmax_cross_entropy_loss/label_loss.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "ops/core/distribution_context.h"
#include "ops/core/infer_context.h"

namespace onward {

namespace {

std::string reduction_of(const Attributes& attributes) { return attributes.get_string("reduction", "mean"); }

double number(const void* data, bool wide, int64_t i) {
  return wide ? static_cast<const double*>(data)[i] : static_cast<double>(static_cast<const float*>(data)[i]);
}

}  // namespace

Shape loss_shape(const InferContext& context, const Shape& scores, std::size_t labels, std::size_t weights) {
  context.require(scores.size() >= 2, "scores of shape [N, C, ...]", to_string(scores));
  Shape wanted = scores;
  wanted.erase(wanted.begin() + 1);
  const TensorType& type = context.type(labels);
  context.require((type.dtype == DType::kInt32 || type.dtype == DType::kInt64) && type.shape() == wanted,
                  "int32 or int64 labels of shape " + to_string(wanted), type.text());
  if (context.has_input(weights)) {
    context.require(context.shape(weights) == Shape{scores[1]}, "class weights of shape " + std::to_string(scores[1]),
                    to_string(context.shape(weights)));
  }
  const std::string reduction = reduction_of(context.attributes());
  context.require(reduction == "none" || reduction == "sum" || reduction == "mean", "the reduction none, sum or mean",
                  reduction);
  return reduction == "none" ? wanted : Shape{};
}

void distribute_loss(DistributionContext& context) {
  const std::string reduction = reduction_of(context.node().attributes);
  if (context.input(0) != Distribution::kBatchSplit || reduction == "none") {
    context.pointwise();
    return;
  }
  if (reduction == "mean") context.fail("is a mean over the rows of a batch that is split over the replicas");
  context.set(0, Distribution::kPartial);
  context.set(1, Distribution::kBatchSplit);
}

LossTerms::LossTerms(const KernelSpec& spec, const KernelContext& context, const Shape& scores, std::size_t labels,
                     std::size_t weights)
    : labels_(context.inputs[labels], spec.inputs[labels].dtype),
      weights_(spec.has_input(weights) ? context.inputs[weights] : nullptr),
      wide_weights_(weights_ && spec.inputs[weights].dtype == DType::kFloat64),
      rows_(scores[0]),
      classes_(scores[1]),
      inner_(element_count({scores.begin() + 2, scores.end()})) {
  if (spec.attributes.has("ignore_index")) ignore_ = spec.attributes.get_int("ignore_index");
  check(spec.node);
}

// Looked at before any thread starts: an exception must not leave a team.
void LossTerms::check(const std::string& node) const {
  for (int64_t i = 0; i < count(); ++i) {
    if (!ignored(i) && (labels_[i] < 0 || labels_[i] >= classes_)) {
      throw Error(ErrorKind::kData, fmt::format("expected a label from 0 to {}, found {} in row {}; in {}",
                                                classes_ - 1, labels_[i], i / inner_, node));
    }
  }
}

double LossTerms::weight(int64_t label) const {
  if (ignored(label)) return 0;
  return weights_ ? number(weights_, wide_weights_, labels_[label]) : 1;
}

double LossTerms::denominator() const {
  double sum = 0;
  for (int64_t i = 0; i < count(); ++i) sum += weight(i);
  return sum;
}

void reduce_terms(const KernelSpec& spec, const LossTerms& terms, const double* values, void* loss, DType dtype) {
  const auto put = [&](int64_t i, double value) {
    if (dtype == DType::kFloat64) {
      static_cast<double*>(loss)[i] = value;
    } else {
      static_cast<float*>(loss)[i] = static_cast<float>(value);
    }
  };
  const std::string reduction = reduction_of(spec.attributes);
  if (reduction == "none") {
    for (int64_t i = 0; i < terms.count(); ++i) put(i, values[i]);
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < terms.count(); ++i) sum += values[i];
  const double denominator = reduction == "mean" ? terms.denominator() : 1;
  put(0, denominator == 0 ? 0 : sum / denominator);
}

TermGradient::TermGradient(const KernelSpec& spec, const LossTerms& terms, const void* dloss, DType dtype)
    : dloss_(dloss), wide_(dtype == DType::kFloat64), share_(1) {
  const std::string reduction = reduction_of(spec.attributes);
  per_label_ = reduction == "none";
  if (reduction == "mean") {
    const double denominator = terms.denominator();
    share_ = denominator == 0 ? 0 : 1 / denominator;
  }
}

double TermGradient::operator[](int64_t label) const { return number(dloss_, wide_, per_label_ ? label : 0) * share_; }

}  // namespace onward
