#include "passes/global_loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/scalars.h"
#include "ops/core/infer_context.h"
#include "passes/emit.h"
#include "passes/scalar_input.h"

namespace onward {
namespace {

bool one_of(const Node& node, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return node.is(name); });
}

// Linear in input 0, the only one that may hang on the batch.
bool is_unary_linear(const Node& node) {
  return one_of(node, {"Identity", "Cast", "Neg", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose",
                       "ReduceSum", "ReduceMean", "Slice", "Gather"});
}

bool is_sum(const Node& node) { return one_of(node, {"Add", "Sub", "Sum"}); }

bool reduces_by_mean(const Node& cross_entropy) {
  return cross_entropy.attributes.get_string("reduction", "mean") == "mean";
}

}  // namespace

bool is_cross_entropy(const Node& node) {
  return one_of(node, {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"});
}

GlobalLoss::GlobalLoss(Graph& graph, PassContext& context)
    : graph_(graph),
      context_(context),
      relations_(analyse_batch(graph, context.registry)),
      evaluates_(context.request.mode == ProgramMode::kEvaluate) {
  for (const auto& node : graph.nodes()) {
    if (!first_cross_entropy_ && is_cross_entropy(*node) && reduces_by_mean(*node)) first_cross_entropy_ = node.get();
  }
}

BatchRelation GlobalLoss::relation(const Value* value) const {
  const auto found = relations_.find(value);
  return found == relations_.end() ? BatchRelation::kFixed : found->second;
}

bool GlobalLoss::is_mean_over_rows(const Node& node) const {
  return node.is("ReduceMean") && relation(node.input(0)) == BatchRelation::kRows;
}

// A sum over the number of rows that the file computed: x.sum() / x.size(0).
bool GlobalLoss::divides_by_rows(const Node& node) const {
  const Value* divisor = node.is("Div") ? node.input(1) : nullptr;
  return divisor && !divisor->producer() && divisor->data.count() == 1 && relation(divisor) == BatchRelation::kSum;
}

// There is one loss denominator: several means over labels must be over the same ones.
bool GlobalLoss::shares_denominator(const Node& node) const {
  const auto ignored = [](const Node& n) {
    return n.attributes.has("ignore_index") ? n.attributes.get_int("ignore_index") : -1;
  };
  return node.input(1) == first_cross_entropy_->input(1) && node.input(2) == first_cross_entropy_->input(2) &&
         node.attributes.has("ignore_index") == first_cross_entropy_->attributes.has("ignore_index") &&
         ignored(node) == ignored(*first_cross_entropy_);
}

const Node* GlobalLoss::obstacle(const Value& loss) const {
  std::vector<const Value*> open{&loss};
  std::unordered_map<const Value*, bool> seen;
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (is_fixed(value) || !seen.try_emplace(value, true).second) continue;
    const Node* node = value->producer();
    if (!node) continue;
    if (relation(value) == BatchRelation::kRows) return node;
    if (const Node* found = obstacle_at(*node)) return found;
    if (is_cross_entropy(*node)) continue;
    for (const Value* input : node->inputs()) {
      if (!input || relation(input) == BatchRelation::kRows) continue;  // where the rewriting ends
      if (!input->producer() && relation(input) == BatchRelation::kMixed) return node;
      open.push_back(input);
    }
  }
  return nullptr;
}

const Node* GlobalLoss::obstacle_at(const Node& node) const {
  if (is_cross_entropy(node)) {
    const bool whole = !is_fixed(node.input(2)) || (reduces_by_mean(node) && !shares_denominator(node));
    return whole ? &node : nullptr;
  }
  if (is_mean_over_rows(node)) {
    const int64_t rows = context_.request.local_batch;
    return rows > 0 && node.input(0)->type.shape().at(0) % rows != 0 ? &node : nullptr;
  }
  const bool reads_rows = std::any_of(node.inputs().begin(), node.inputs().end(),
                                      [&](const Value* v) { return v && relation(v) == BatchRelation::kRows; });
  if (divides_by_rows(node)) return reads_rows ? &node : nullptr;
  if (reads_rows) return relation(node.output(0)) == BatchRelation::kSum ? nullptr : &node;
  if (is_sum(node)) return nullptr;
  if (is_unary_linear(node)) {
    const bool others_fixed =
        std::all_of(node.inputs().begin() + 1, node.inputs().end(), [&](Value* v) { return is_fixed(v); });
    return others_fixed && is_floating(node.output(0)->type.dtype) ? nullptr : &node;
  }
  if (node.is("Mul")) return is_fixed(node.input(0)) || is_fixed(node.input(1)) ? nullptr : &node;
  if (node.is("Div")) return is_fixed(node.input(1)) ? nullptr : &node;
  return &node;
}

Value& GlobalLoss::rewrite(Value& loss) { return *term(loss); }

Value* GlobalLoss::term(Value& value) {
  const auto found = terms_.find(&value);
  if (found != terms_.end()) return found->second;
  return terms_[&value] = new_term(value);
}

Value* GlobalLoss::new_term(Value& value) {
  if (is_fixed(&value)) return share(value);
  if (!value.producer()) return &value;  // a number of rows
  Node& node = *value.producer();
  if (is_cross_entropy(node)) return reduces_by_mean(node) ? cross_entropy_sum(node) : &value;
  if (is_mean_over_rows(node)) return mean_over_rows(node);
  if (divides_by_rows(node)) return quotient_by_rows(node);
  const bool reads_rows = std::any_of(node.inputs().begin(), node.inputs().end(),
                                      [&](const Value* v) { return v && relation(v) == BatchRelation::kRows; });
  return reads_rows ? &value : linear(node);
}

// Sums take the terms of all operands; products and quotients keep their fixed factor as it is.
Value* GlobalLoss::linear(Node& node) {
  std::vector<Value*> inputs;
  for (Value* input : node.inputs())
    inputs.push_back(input && (is_sum(node) || !is_fixed(input)) ? term(*input) : input);
  return emit(node.op(), std::move(inputs), &node, node.attributes);
}

Value* GlobalLoss::cross_entropy_sum(Node& node) {
  has_means_ = true;
  Attributes attributes = node.attributes;
  attributes.set("reduction", std::string("sum"));
  Value* sum = emit(node.op(), node.inputs(), &node, std::move(attributes));
  if (evaluates_) return sum;
  return emit({"", "Div"}, {sum, &scalar_input(graph_, kLossDenominator, sum->type.dtype)}, &node);
}

Value* GlobalLoss::mean_over_rows(Node& node) {
  const Shape shape = node.input(0)->type.shape();
  const Shape reduced = node.output(0)->type.shape();
  // Elements of one mean per sample of the batch; any number will do where there are no rows.
  const int64_t rows = std::max<int64_t>(context_.request.local_batch, 1);
  const int64_t count =
      std::max<int64_t>(element_count(shape) / std::max<int64_t>(element_count(reduced), 1) / rows, 1);
  Value* sum = emit({"", "ReduceSum"}, node.inputs(), &node, node.attributes);
  return divide_by_global(sum, static_cast<double>(count), node);
}

Value* GlobalLoss::quotient_by_rows(Node& node) {
  const int64_t rows = context_.request.local_batch;
  const double count = rows > 0 ? node.input(1)->data.to_double().front() / static_cast<double>(rows) : 1;
  return divide_by_global(term(*node.input(0)), count, node);
}

Value* GlobalLoss::divide_by_global(Value* sum, double per_sample, const Node& like) {
  has_means_ = true;
  Value* count = per_sample != 1 ? scalar(per_sample, sum->type.dtype, "elements_per_sample") : nullptr;
  if (evaluates_) return count ? emit({"", "Div"}, {sum, count}, &like) : sum;
  Value* total = global_batch(sum->type.dtype);
  if (count) total = emit({"", "Mul"}, {total, count}, &like);
  return emit({"", "Div"}, {sum, total}, &like);
}

// The share is itself partial: over replicas and micro-batches it adds up to one.
Value* GlobalLoss::share(Value& fixed) {
  const DType dtype = fixed.type.dtype;
  Value* rows = scalar(static_cast<double>(context_.request.local_batch), dtype, "local_batch");
  rows->distribution = Distribution::kPartial;
  has_means_ = true;
  if (evaluates_) return emit({"", "Mul"}, {&fixed, rows}, fixed.producer());
  Value* fraction = emit({"", "Div"}, {rows, global_batch(dtype)}, fixed.producer());
  return emit({"", "Mul"}, {&fixed, fraction}, fixed.producer());
}

Value* GlobalLoss::global_batch(DType dtype) {
  Value*& known = global_batch_[dtype];
  if (known) return known;
  known = &scalar_input(graph_, kGlobalBatch, DType::kFloat64);
  if (dtype != DType::kFloat64) known = emit({"", "Cast"}, {known}, nullptr, {{"to", static_cast<int64_t>(dtype)}});
  return known;
}

Value* GlobalLoss::emit(OpId op, std::vector<Value*> inputs, const Node* like, Attributes attributes) {
  const std::string base = like && like->output(0) ? like->output(0)->name() : "loss";
  const std::string origin = like ? fmt::format("global form of {}", like->text()) : "global form of the loss";
  return emit_node(graph_, context_.registry,
                   {std::move(op), std::move(inputs), {base + ".global"}, std::move(attributes), origin})
      .output(0);
}

Value* GlobalLoss::scalar(double number, DType dtype, const std::string& name) {
  return &graph_.add_data(name, HostTensor::scalar<double>(number).cast(dtype));
}

}  // namespace onward
