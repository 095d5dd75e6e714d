#include "passes/clip.h"

#include "passes/emit.h"

namespace onward {
namespace {

constexpr const char* kOrigin = "gradient clipping";

std::vector<Value*> gradients_of(const Graph& graph) {
  std::vector<Value*> values;
  for (const ParameterGradient& pair : graph.gradients()) values.push_back(pair.gradient);
  return values;
}

std::vector<std::string> clipped_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ParameterGradient& pair : graph.gradients()) names.push_back(pair.parameter->name() + ".grad.clipped");
  return names;
}

void clip_by_norm(Graph& graph, const Registry& registry, double limit) {
  std::vector<Value*> values = gradients_of(graph);
  Node& norm = emit_node(graph, registry, {{kOnwardDomain, "GlobalNorm"}, values, {"gradient_norm"}, {}, kOrigin});
  values.insert(values.begin(), norm.output(0));
  Node& clip = emit_node(graph, registry,
                         {{kOnwardDomain, "ClipByNorm"}, values, clipped_names(graph), {{"limit", limit}}, kOrigin});
  for (std::size_t i = 0; i < graph.gradients().size(); ++i) graph.set_gradient(i, *clip.output(i));
}

void clip_by_value(Graph& graph, const Registry& registry, double limit) {
  const std::vector<std::string> names = clipped_names(graph);
  for (std::size_t i = 0; i < graph.gradients().size(); ++i) {
    Node& clip = emit_node(
        graph, registry,
        {{"", "Clip"}, {graph.gradients()[i].gradient}, {names[i]}, {{"min", -limit}, {"max", limit}}, kOrigin});
    graph.set_gradient(i, *clip.output(0));
  }
}

void run(Graph& graph, PassContext& context) {
  if (graph.gradients().empty()) return;
  const ProgramOptions& options = context.options;
  if (options.clip_norm > 0) clip_by_norm(graph, context.registry, options.clip_norm);
  if (options.clip_value > 0) clip_by_value(graph, context.registry, options.clip_value);
}

}  // namespace

Pass clip_pass() { return {.name = "clip", .run = run, .requires_ = {"distributed"}}; }

}  // namespace onward
