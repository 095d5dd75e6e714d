#pragma once
#include <unordered_map>

#include "passes/batch_analysis.h"
#include "passes/pass.h"

namespace onward {

// Rewrites a loss of the file, which it computes from its own rows, as the replica's term of the loss of the global
// batch: the sum of the terms over replicas and micro-batches is the loss. Means over the batch become sums divided by
// a scalar of the global batch; sums stay; what does not depend on the batch is weighted by the replica's share of the
// samples. For evaluation the division is left out: the terms are sums over rows, which the host adds up and divides.
class GlobalLoss {
 public:
  GlobalLoss(Graph& graph, PassContext& context);

  // The first node that such a rewriting cannot pass; nullptr if there is none.
  const Node* obstacle(const Value& loss) const;
  // The rewritten loss. Valid only if there is no obstacle.
  Value& rewrite(Value& loss);
  // Whether the rewritten loss is a mean rather than a sum.
  bool has_means() const { return has_means_; }

 private:
  BatchRelation relation(const Value* value) const;
  bool is_fixed(const Value* value) const { return !value || relation(value) == BatchRelation::kFixed; }
  bool is_mean_over_rows(const Node& node) const;
  bool divides_by_rows(const Node& node) const;
  bool shares_denominator(const Node& cross_entropy) const;
  const Node* obstacle_at(const Node& node) const;

  Value* term(Value& value);
  Value* new_term(Value& value);
  Value* linear(Node& node);
  Value* cross_entropy_sum(Node& node);
  Value* mean_over_rows(Node& node);
  Value* quotient_by_rows(Node& node);
  Value* divide_by_global(Value* sum, double per_sample, const Node& like);
  Value* share(Value& fixed);
  Value* global_batch(DType dtype);
  Value* emit(OpId op, std::vector<Value*> inputs, const Node* like, Attributes attributes = {});
  Value* scalar(double number, DType dtype, const std::string& name);

  Graph& graph_;
  PassContext& context_;
  std::unordered_map<const Value*, BatchRelation> relations_;
  std::unordered_map<const Value*, Value*> terms_;
  std::unordered_map<DType, Value*> global_batch_;
  const Node* first_cross_entropy_ = nullptr;  // whose labels and weights make the loss denominator
  bool evaluates_;
  bool has_means_ = false;
};

// SoftmaxCrossEntropyLoss or NegativeLogLikelihoodLoss.
bool is_cross_entropy(const Node& node);

}  // namespace onward
