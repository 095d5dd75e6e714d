#pragma once
#include <optional>
#include <string>

#include "ops/core/index_reader.h"
#include "ops/core/kernel.h"

namespace onward {

class DistributionContext;
class InferContext;

// What SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss share. Scores are [N, C, d1..dk], labels [N, d1..dk] int32
// or int64, class weights [C]; the loss is one term per label, reduced by the attribute `reduction`:
//   none  the terms, 0 where the label equals `ignore_index`;
//   sum   their sum;
//   mean  their sum divided by the weights of the labels that count (by their number without weights); 0 if none does.

// Checks the inputs (scores, labels, weights?) at the given positions and returns the type of the loss.
Shape loss_shape(const InferContext& context, const Shape& scores, std::size_t labels, std::size_t weights);
// none: rows; sum: partial; mean: Error(kModel) for a batch that is split.
void distribute_loss(DistributionContext& context);

// Labels and weights of one run, row-major.
class LossTerms {
 public:
  // `scores` is the shape [N, C, d1..dk]. Error(kData) naming the first label outside 0 ... C-1 that is not ignored.
  LossTerms(const KernelSpec& spec, const KernelContext& context, const Shape& scores, std::size_t labels,
            std::size_t weights);

  int64_t count() const { return rows_ * inner_; }  // of the labels
  int64_t classes() const { return classes_; }
  int64_t stride() const { return inner_; }  // between the scores of one label
  int64_t first(int64_t label) const {
    return label / inner_ * classes_ * inner_ + label % inner_;
  }  // its score of class 0
  bool ignored(int64_t label) const { return ignore_ && labels_[label] == *ignore_; }
  int64_t operator[](int64_t label) const { return labels_[label]; }
  // Of the label's class; 0 if it is ignored.
  double weight(int64_t label) const;
  // What a mean divides by.
  double denominator() const;

 private:
  void check(const std::string& node) const;

  IndexReader labels_;
  const void* weights_;
  bool wide_weights_;
  std::optional<int64_t> ignore_;
  int64_t rows_, classes_, inner_;
};

// Writes the loss from one term per label. Sums add in the order of the labels.
void reduce_terms(const KernelSpec& spec, const LossTerms& terms, const double* values, void* loss, DType dtype);
// The gradient of the loss with respect to the term of a label, before its weight: dloss, divided for a mean.
class TermGradient {
 public:
  TermGradient(const KernelSpec& spec, const LossTerms& terms, const void* dloss, DType dtype);
  double operator[](int64_t label) const;

 private:
  const void* dloss_;
  bool wide_;
  bool per_label_;
  double share_;
};

}  // namespace onward
