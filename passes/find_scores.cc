#include "passes/find_scores.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace onward {
namespace {

int64_t trailing_count(const Shape& shape, std::size_t from) {
  return element_count({shape.begin() + static_cast<std::ptrdiff_t>(std::min(from, shape.size())), shape.end()});
}

bool is_scores(const Value& value, int64_t rows) {
  if (!is_floating(value.type.dtype) || !value.producer()) return false;
  const Shape shape = value.type.shape();
  return shape.size() >= 2 && shape[0] == rows && shape[1] >= 2 && trailing_count(shape, 2) == 1;
}

// Nodes that change neither the numbers nor their order.
bool only_reshapes(const Node& node) {
  return node.is("Identity") || node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") || node.is("Unsqueeze");
}

// The input of a softmax over the classes that ends in `output`.
Value* logits_behind(const Value& output, std::string& op) {
  const Value* value = &output;
  while (value->producer() && only_reshapes(*value->producer())) value = value->producer()->input(0);
  const Node* node = value->producer();
  if (!node || (!node->is("Softmax") && !node->is("LogSoftmax"))) return nullptr;
  const Shape shape = value->type.shape(), wanted = output.type.shape();
  const int64_t axis = node->attributes.get_int("axis", -1);
  const auto classes = static_cast<std::size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  const bool over_classes = classes == 1 && shape.size() >= 2 && shape[0] == wanted[0] && shape[1] == wanted[1];
  if (!over_classes || trailing_count(shape, 2) != 1) return nullptr;
  op = node->op().name;
  return node->input(0);
}

std::vector<Scores> candidates(const Graph& graph, const PassContext& context) {
  std::vector<Scores> list;
  for (Value* output : graph.outputs()) {
    if (!is_scores(*output, context.request.local_batch)) continue;
    Scores scores{output, output->name(), ""};
    if (Value* logits = logits_behind(*output, scores.behind)) scores.value = logits;
    // Logits and probabilities of the same scores are one candidate.
    const auto same = [&](const Scores& other) { return other.value == scores.value; };
    const auto found = std::find_if(list.begin(), list.end(), same);
    if (found == list.end()) {
      list.push_back(std::move(scores));
    } else if (scores.behind.empty()) {
      *found = std::move(scores);
    }
  }
  return list;
}

std::string list_outputs(const Graph& graph) {
  std::string text;
  for (const Value* output : graph.outputs()) text += fmt::format("\n  '{}': {}", output->name(), output->type.text());
  return text.empty() ? " none" : text;
}

}  // namespace

Scores find_scores(const Graph& graph, const PassContext& context) {
  const std::vector<Scores> list = candidates(graph, context);
  if (list.size() == 1) return list.front();
  if (list.empty()) {
    throw Error(
        ErrorKind::kModel,
        fmt::format("expected an output with scores for at least 2 classes, [{}, classes], to attach cross entropy to, "
                    "found the outputs:{}",
                    context.request.local_batch, list_outputs(graph)));
  }
  std::vector<std::string> names;
  for (const Scores& scores : list) names.push_back("'" + scores.output + "'");
  throw Error(ErrorKind::kModel,
              fmt::format("expected one output with scores per class to attach cross entropy to, found {}: "
                          "{}; remove the others from the model's outputs",
                          names.size(), fmt::join(names, ", ")));
}

Value* find_only_scores(const Graph& graph, const PassContext& context) {
  const std::vector<Scores> list = candidates(graph, context);
  return list.size() == 1 ? list.front().value : nullptr;
}

}  // namespace onward
