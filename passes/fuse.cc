#include "passes/fuse.h"

#include <algorithm>

#include "ops/core/infer_context.h"

namespace onward {
namespace {

// Inputs of the lowered ops.
namespace apply {
enum : std::size_t { kMean = 1, kScale = 3, kBias = 4, kResidual = 5 };
}
namespace reduce {
enum : std::size_t { kDy = 0, kMean = 2, kScale = 4, kBias = 5, kY = 6, kDy2 = 7 };
}
namespace grad_apply {
enum : std::size_t { kDy = 0, kMean = 2, kBias = 7 };
}

class Fuse {
 public:
  Fuse(Graph& graph, const Registry& registry) : graph_(graph), registry_(registry) {}

  void run() {
    // The later of two batch norms that are added takes the Add, because the other is ready by then.
    std::vector<Node*> applies = nodes_of("BatchNormApply");
    for (auto node = applies.rbegin(); node != applies.rend(); ++node) fuse_residual(**node);
    for (Node* node : applies) fuse_relu(*node);
    // First those whose own Relu it is: what they write serves the others.
    for (Node* node : nodes_of("BatchNormGradReduce")) fuse_relu_grad(*node);
    for (Node* node : nodes_of("BatchNormGradReduce")) fuse_sum(*node);
  }

 private:
  std::vector<Node*> nodes_of(const char* op) const {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) {
      if (node->is(op, kOnwardDomain)) nodes.push_back(node.get());
    }
    return nodes;
  }

  // The one node that reads the value, if nothing else does.
  Node* sole_user(const Value& value) const {
    return value.uses().size() == 1 && !graph_.is_kept(value) ? value.uses().front().node : nullptr;
  }

  // `node`, whose output `old` becomes, moves to the place of old's producer, which disappears.
  void absorb(Node& node, Value& result, Value& old) {
    Node& producer = *old.producer();
    const std::string name = old.name();
    graph_.move_before(node, producer);
    graph_.replace_uses(old, result);
    graph_.erase(producer);
    graph_.rename(result, name);
  }

  void fuse_residual(Node& node) {
    Value& y = *node.output(0);
    Node* add = sole_user(y);
    if (!add || !add->is("Add") || node.input(apply::kResidual)) return;
    Value* residual = add->input(0) == &y ? add->input(1) : add->input(0);
    if (residual->type != y.type) return;
    graph_.set_input(*add, 0, residual);
    graph_.set_input(*add, 1, residual);
    graph_.set_input(node, apply::kResidual, residual);
    absorb(node, y, *add->output(0));
  }

  void fuse_relu(Node& node) {
    Value& y = *node.output(0);
    Node* relu = sole_user(y);
    if (!relu || !relu->is("Relu")) return;
    node.attributes.set("relu", int64_t{1});
    Value& result = *relu->output(0);
    graph_.set_inputs(*relu, {});
    absorb(node, y, result);
  }

  void fuse_relu_grad(Node& node) {
    Value& g = *node.input(reduce::kDy);
    Node* relu_grad = g.producer();
    if (!relu_grad || !relu_grad->is("ReluGrad", kOnwardDomain)) return;
    Value& y = *relu_grad->input(1);
    const Node* forward = y.producer();
    const bool own = forward && forward->is("BatchNormApply", kOnwardDomain) &&
                     forward->attributes.get_int("relu") != 0 &&
                     forward->input(apply::kMean) == node.input(reduce::kMean);
    if (!own) return;

    if (forward->input(apply::kResidual)) {
      set_mask(node, "y");
      graph_.set_input(node, reduce::kY, &y);
    } else {
      set_mask(node, "recompute");
      graph_.set_input(node, reduce::kScale, forward->input(apply::kScale));
      graph_.set_input(node, reduce::kBias, forward->input(apply::kBias));
      if (recompute_in_apply(node, *forward, g)) return;
    }
    take_gradient(node, *relu_grad->input(0), g);
    split_sum(node);
  }

  static void set_mask(Node& node, const char* mask) { node.attributes.set("mask", std::string(mask)); }

  // Where only the two halves of the node's own gradient read what the Relu lets through, both recompute the mask and
  // nobody writes it.
  bool recompute_in_apply(Node& node, const Node& forward, Value& g) {
    Node& relu_grad = *g.producer();
    Value& dy = *relu_grad.input(0);
    if (graph_.is_kept(g) || is_sum_for(dy, relu_grad)) return false;
    Node* second = nullptr;
    for (const Use& use : g.uses()) {
      if (use.node == &node) continue;
      const bool half = use.node->is("BatchNormGradApply", kOnwardDomain) && use.index == grad_apply::kDy &&
                        use.node->input(grad_apply::kMean) == node.input(reduce::kMean);
      if (!half) return false;
      second = use.node;
    }
    if (second) {
      set_mask(*second, "recompute");
      graph_.set_input(*second, grad_apply::kBias, forward.input(apply::kBias));
    }
    graph_.replace_uses(g, dy);
    graph_.erase(relu_grad);
    return true;
  }

  // A sum of two full-sized gradients that nobody but `user` reads.
  bool is_sum_for(const Value& value, const Node& user) const {
    const Node* add = value.producer();
    return add && add->is("Add") && sole_user(value) == &user && add->input(0)->type == value.type &&
           add->input(1)->type == value.type;
  }

  // The node reads `dy` in place of g and makes g itself, as its output G.
  void take_gradient(Node& node, Value& dy, Value& g) {
    Value& written = graph_.add_output_to(node, 1, g.name() + ".masked", g.type);
    graph_.set_input(node, reduce::kDy, &dy);
    absorb(node, written, g);
    infer_node(node, registry_);
  }

  // dY = a + b of a node that writes G anyway.
  void split_sum(Node& node) {
    Value& sum = *node.input(reduce::kDy);
    if (!is_sum_for(sum, node)) return;
    Node& add = *sum.producer();
    graph_.set_input(node, reduce::kDy, add.input(0));
    graph_.set_input(node, reduce::kDy2, add.input(1));
    graph_.erase(add);
  }

  // Without a Relu: the sum itself is what the others read.
  void fuse_sum(Node& node) {
    Value& sum = *node.input(reduce::kDy);
    const Node* add = sum.producer();
    if (!add || !add->is("Add") || node.output(1) || node.attributes.get_string("mask") != "none") return;
    Value *a = add->input(0), *b = add->input(1);
    if (a->type != sum.type || b->type != sum.type) return;
    graph_.set_input(node, reduce::kDy2, b);
    take_gradient(node, *a, sum);
  }

  Graph& graph_;
  const Registry& registry_;
};

}  // namespace

Pass fuse_pass() {
  return {.name = "fuse",
          .run = [](Graph& graph, PassContext& context) { Fuse(graph, context.registry).run(); },
          .requires_ = {"lowered"},
          .optional = true};
}

}  // namespace onward
