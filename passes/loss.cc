// The loss of training: the scalar that the file brings along, or cross entropy on the scores that it ends in. Either
// way the program computes its own rows' term of the loss of the global batch (global_loss.h), so that gradients and
// metrics are plain sums over replicas and micro-batches.
#include "passes/loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "graph/scalars.h"
#include "passes/emit.h"
#include "passes/find_scores.h"
#include "passes/global_loss.h"
#include "passes/outputs.h"
#include "passes/scalar_input.h"

namespace onward {
namespace {

bool is_scalar_loss(const Value& value) {
  if (!is_floating(value.type.dtype) || !value.producer()) return false;
  const Shape shape = value.type.shape();
  return shape.empty() || (shape.size() == 1 && shape[0] == 1);
}

// What computes the value, once each, users first.
std::vector<const Node*> ancestors(const Value& value) {
  std::vector<const Node*> list;
  std::unordered_set<const Node*> seen;
  std::vector<const Value*> open{&value};
  while (!open.empty()) {
    const Node* node = open.back()->producer();
    open.pop_back();
    if (!node || !seen.insert(node).second) continue;
    list.push_back(node);
    for (const Value* input : node->inputs()) {
      if (input) open.push_back(input);
    }
  }
  return list;
}

class LossPass {
 public:
  LossPass(Graph& graph, PassContext& context)
      : graph_(graph),
        context_(context),
        options_(context.options),
        evaluates_(context.request.mode == ProgramMode::kEvaluate) {}

  void run() {
    if (!options_.gradient_of.empty()) {
      use_output(named_output(options_.gradient_of), options_.gradient_of);
      return;
    }
    Value* own = options_.loss == LossKind::kAuto ? find_own_loss() : nullptr;
    if (!evaluates_ && !options_.keep_outputs) drop_outputs_later();
    if (own) {
      use_output(*own, kLossOutput);
      add_counts_of_own_loss();
    } else {
      attach_cross_entropy();
    }
    for (Value* output : dropped_) graph_.remove_output(*output);
  }

 private:
  // ---- a loss of the file

  Value* find_own_loss() const {
    const auto relations = analyse_batch(graph_, context_.registry);
    std::vector<Value*> scalars;
    for (Value* output : graph_.outputs()) {
      const BatchRelation relation = relations.at(output);
      if (is_scalar_loss(*output) && (relation == BatchRelation::kSum || relation == BatchRelation::kMixed)) {
        scalars.push_back(output);
      }
    }
    if (scalars.size() < 2) return scalars.empty() ? nullptr : scalars.front();
    const auto named = std::find_if(scalars.begin(), scalars.end(), [](Value* v) { return v->name() == "loss"; });
    if (named != scalars.end()) return *named;
    std::vector<std::string> names;
    for (const Value* value : scalars) names.push_back("'" + value->name() + "'");
    throw Error(ErrorKind::kModel,
                fmt::format("expected one scalar output to take as the loss, or one named 'loss', found {}: {}; "
                            "rename one, remove the others, or use --loss cross_entropy",
                            names.size(), fmt::join(names, ", ")));
  }

  Value& named_output(const std::string& name) const {
    Value* value = graph_.find_value(name);
    if (value && graph_.is_output(*value) && is_floating(value->type.dtype) &&
        element_count(value->type.shape()) == 1) {
      return *value;
    }
    std::vector<std::string> found;
    for (const Value* output : graph_.outputs())
      found.push_back(fmt::format("'{}' ({})", output->name(), output->type.text()));
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a scalar output to differentiate, found '{}'; the outputs are: {}", name,
                            fmt::join(found, ", ")));
  }

  // One part of the batch cannot be computed apart from the others where there is more than one.
  bool is_divided() const {
    return options_.replicas > 1 || context_.request.mode == ProgramMode::kAccumulateFirst ||
           context_.request.mode == ProgramMode::kAccumulateNext ||
           context_.request.mode == ProgramMode::kTrainAccumulated;
  }

  void use_output(Value& file_loss, const std::string& name) {
    info_.value = name;
    describe_labels(file_loss);
    GlobalLoss global(graph_, context_);
    const Node* obstacle = global.obstacle(file_loss);
    if (obstacle && is_divided()) {
      throw Error(
          ErrorKind::kModel,
          fmt::format(
              "expected the loss '{}' to be a mean or a sum over the samples, which replicas and micro-batches can "
              "add up, found {}, where that cannot be decided; train on one replica without accumulation, or "
              "change the model",
              file_loss.name(), obstacle->text()));
    }
    Value* loss = obstacle ? &undivided(file_loss) : &global.rewrite(file_loss);
    if (info_.denominator == LossDenominator::kSamples && !obstacle && !global.has_means()) {
      info_.denominator = LossDenominator::kNone;
    }
    context_.facts.push_back(fmt::format("loss: the output '{}' of the file", file_loss.name()));
    replace(file_loss, *loss, name);
    context_.loss = info_;
  }

  Value& undivided(Value& file_loss) {
    if (!evaluates_) return file_loss;
    const auto rows = static_cast<double>(context_.request.local_batch);
    Value& factor = graph_.add_data("local_batch", HostTensor::scalar<double>(rows).cast(file_loss.type.dtype));
    return emit({"", "Mul"}, {&file_loss, &factor}, "loss.sum");
  }

  // The new loss takes the place of the file's among the outputs, and the name under which it is known. An output that
  // was asked for by its name keeps its shape too.
  void replace(Value& old, Value& loss, const std::string& name) {
    Value* result = &loss;
    const bool keeps_shape = !options_.gradient_of.empty() || loss.type.shape().empty();
    if (!keeps_shape) result = &emit({"", "Reshape"}, {&loss}, "loss.scalar", {{"shape", Shape{}}});
    if (result != &old) replace_output(graph_, old, *result);
    std::erase(dropped_, &old);
    give_name(*result, name);
  }

  // The class labels that the loss reads, and how they count.
  void describe_labels(const Value& file_loss) {
    for (const Node* node : ancestors(file_loss)) {
      if (is_cross_entropy(*node)) return describe_cross_entropy(*node);
    }
    describe_integer_input(file_loss);
  }

  void describe_cross_entropy(const Node& node) {
    if (node.input(0)->type.shape().size() == 2) scores_ = node.input(0);
    labels_ = node.input(1);
    info_.classes = node.input(0)->type.shape().at(1);
    if (node.attributes.has("ignore_index")) info_.ignore_index = node.attributes.get_int("ignore_index");
    if (node.input(2) && !node.input(2)->data.empty()) info_.class_weights = node.input(2)->data.to_double();
    const bool mean = node.attributes.get_string("reduction", "mean") == "mean";
    const bool weighted = info_.ignore_index || !info_.class_weights.empty() || labels_->type.shape().size() > 1;
    if (mean && weighted) info_.denominator = LossDenominator::kLabelWeights;
    const Value* source = labels_;
    while (source->producer()) source = source->producer()->input(0);
    set_label_input(source->name());
  }

  // A loss built from other nodes: the only input of one integer a sample holds the labels.
  void describe_integer_input(const Value& file_loss) {
    std::unordered_set<const Value*> read;
    for (const Node* node : ancestors(file_loss)) read.insert(node->inputs().begin(), node->inputs().end());
    std::vector<Value*> integers;
    for (Value* input : graph_.inputs()) {
      if (input->role == Role::kInput && is_integer(input->type.dtype) && input->type.shape().size() == 1 &&
          read.contains(input)) {
        integers.push_back(input);
      }
    }
    if (integers.size() != 1) return;
    labels_ = integers.front();
    scores_ = find_only_scores(graph_, context_);
    info_.classes = scores_ ? scores_->type.shape().at(1) : 0;
    set_label_input(labels_->name());
  }

  void set_label_input(const std::string& name) {
    Value* input = graph_.find_value(name);
    if (!input || input->role != Role::kInput) return;
    input->role = Role::kLabel;
    info_.label = name;
  }

  void add_counts_of_own_loss() {
    if (!scores_ || !labels_ || labels_->type.shape().size() != 1) return;
    add_counts(two_dimensional(*scores_), *labels_);
    context_.loss = info_;
  }

  // ---- cross entropy on the model's scores

  void attach_cross_entropy() {
    const Scores found = find_scores(graph_, context_);
    Value& scores = two_dimensional(*found.value);
    const std::string before =
        found.behind.empty() ? "" : fmt::format(", before the {} that ends in '{}'", found.behind, found.output);
    const Shape shape = scores.type.shape();
    context_.facts.push_back(
        fmt::format("loss: cross entropy on '{}', {} classes{}", found.value->name(), shape[1], before));
    Value& label = graph_.add_input(kLabelInput, TensorType(DType::kInt64, Shape{shape[0]}), Role::kLabel);
    info_.value = kLossOutput;
    info_.label = label.name();
    info_.classes = shape[1];
    Value* loss =
        &emit({"", "SoftmaxCrossEntropyLoss"}, {&scores, &label}, "loss.sum", {{"reduction", std::string("sum")}});
    if (!evaluates_) {
      loss = &emit({"", "Div"}, {loss, &scalar_input(graph_, kLossDenominator, loss->type.dtype)}, "loss.mean");
    }
    graph_.add_output(*loss);
    graph_.rename(*loss, kLossOutput);
    add_counts(scores, label);
    context_.loss = info_;
  }

  Value& two_dimensional(Value& scores) {
    const Shape shape = scores.type.shape();
    if (shape.size() == 2) return scores;
    return emit({"", "Reshape"}, {&scores}, scores.name() + ".rows", {{"shape", Shape{shape.at(0), shape.at(1)}}});
  }

  void add_counts(Value& scores, Value& labels) {
    info_.scores = scores.name();
    Attributes attributes;
    if (info_.ignore_index) attributes.set("ignore_index", *info_.ignore_index);
    Node& counts = emit_node(
        graph_, context_.registry,
        {{kOnwardDomain, "CorrectCounts"}, {&scores, &labels}, {"counts.top1", "counts.top5"}, attributes, "metrics"});
    graph_.add_output(*counts.output(0));
    graph_.add_output(*counts.output(1));
    graph_.rename(*counts.output(0), kCorrectTop1Output);
    graph_.rename(*counts.output(1), kCorrectTop5Output);
    keep_scores(scores);
  }

  void keep_scores(Value& scores) {
    if (evaluates_ && options_.keep_scores && !graph_.is_output(scores)) graph_.add_output(scores);
  }

  // ---- outputs

  // A training program has no use for the file's outputs; they go when the new ones are in place.
  void drop_outputs_later() { dropped_ = graph_.outputs(); }

  // A value of the file that has the name gives way to what replaces it.
  void give_name(Value& value, const std::string& name) {
    Value* holder = graph_.find_value(name);
    if (holder == &value) return;
    if (holder) graph_.rename(*holder, name + ".file");
    graph_.rename(value, name);
  }

  Value& emit(OpId op, std::vector<Value*> inputs, const std::string& name, Attributes attributes = {}) {
    return *emit_node(graph_, context_.registry,
                      {std::move(op), std::move(inputs), {name}, std::move(attributes), "loss"})
                .output(0);
  }

  Graph& graph_;
  PassContext& context_;
  const ProgramOptions& options_;
  bool evaluates_;
  LossInfo info_;
  Value* scores_ = nullptr;
  Value* labels_ = nullptr;
  std::vector<Value*> dropped_;  // outputs of the file that go
};

}  // namespace

Pass loss_pass() {
  return {.name = "loss",
          .run = [](Graph& graph, PassContext& context) { LossPass(graph, context).run(); },
          .requires_ = {"static"},
          .ensures = {"loss"}};
}

}  // namespace onward
