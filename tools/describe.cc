#include "tools/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace onward::cli {

namespace {

int64_t type_bytes(const TensorType& type) {
  return type.is_static() ? element_count(type.shape()) * static_cast<int64_t>(dtype_size(type.dtype)) : 0;
}

nlohmann::ordered_json value_to_json(const Value& value) {
  return {{"name", value.name()},
          {"type", value.type.text()},
          {"role", role_name(value.role)},
          {"distribution", distribution_name(value.distribution)}};
}

std::vector<std::string> names_of(const std::vector<Value*>& values) {
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(value ? value->name() : "");
  return names;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + "\"";
}

// Drawn where it has no producer: not parameters, constants and the scalars of a step, which many nodes read.
bool is_data(const Value& value) { return value.role == Role::kInput || value.role == Role::kLabel; }

// Fill colours by what a node belongs to.
const char* node_colour(const Node& node) {
  if (node.is("AllReduce", kOnwardDomain) || node.is("AllGather", kOnwardDomain)) return "lightsalmon";
  if (node.origin.rfind("backward", 0) == 0) return "lightblue";
  return node.op().name.ends_with("Step") ? "palegreen" : "white";
}

}  // namespace

double node_flops(const Node& node, const Registry& registry) {
  const auto is_open = [](const Value* value) { return value && !value->type.is_static(); };
  for (const auto* list : {&node.inputs(), &node.outputs()}) {
    if (std::any_of(list->begin(), list->end(), is_open)) return 0;
  }
  const OpDef* def = registry.find(node.op());
  return def && def->flops ? def->flops(node) : 0;
}

std::vector<OpSummary> summarise_ops(const Graph& graph, const Registry& registry) {
  std::map<std::string, OpSummary> by_op;
  for (const auto& node : graph.nodes()) {
    OpSummary& summary = by_op[to_string(node->op())];
    summary.op = to_string(node->op());
    summary.count += 1;
    summary.flops += node_flops(*node, registry);
  }
  std::vector<OpSummary> list;
  for (auto& [name, summary] : by_op) list.push_back(summary);
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.flops > b.flops; });
  return list;
}

std::vector<CollectiveSummary> summarise_collectives(const Graph& graph, const Registry& registry) {
  std::vector<CollectiveSummary> list;
  for (const auto& node : graph.nodes()) {
    const OpDef* def = registry.find(node->op());
    if (!def || !def->communicates) continue;
    CollectiveSummary summary{
        .id = node->attributes.get_int("collective", -1), .op = node->op().name, .origin = node->origin};
    for (const Value* input : node->inputs()) {
      summary.operands += 1;
      summary.bytes += type_bytes(input->type);
    }
    list.push_back(summary);
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return list;
}

nlohmann::ordered_json graph_to_json(const Graph& graph, const Registry& registry) {
  nlohmann::ordered_json json;
  json["inputs"] = names_of(graph.inputs());
  json["outputs"] = names_of(graph.outputs());
  json["updates"] = nlohmann::ordered_json::array();
  for (const StateUpdate& update : graph.updates()) {
    json["updates"].push_back({{"state", update.state->name()}, {"updated", update.updated->name()}});
  }
  json["values"] = nlohmann::ordered_json::array();
  for (const Value* value : graph.value_list()) json["values"].push_back(value_to_json(*value));
  json["nodes"] = nlohmann::ordered_json::array();
  for (const auto& node : graph.nodes()) {
    json["nodes"].push_back({{"op", to_string(node->op())},
                             {"name", node->name},
                             {"origin", node->origin},
                             {"inputs", names_of(node->inputs())},
                             {"outputs", names_of(node->outputs())},
                             {"attributes", to_string(node->attributes)},
                             {"flops", node_flops(*node, registry)}});
  }
  return json;
}

std::string graph_to_dot(const Graph& graph) {
  // Without limits Graphviz works for minutes on the long edges from forward to backward nodes.
  std::string dot =
      "digraph onward {\n  nslimit=1; nslimit1=1; splines=line;\n"
      "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n";
  for (const Value* input : graph.inputs()) {
    if (is_data(*input)) dot += fmt::format("  {} [shape=ellipse, fillcolor=lightyellow];\n", quoted(input->name()));
  }
  for (const auto& node : graph.nodes()) {
    const Value* output = node->output(0);
    const std::string label = node->text() + (output ? "\n" + output->type.text() : "");
    dot += fmt::format("  n{} [label={}, fillcolor={}];\n", node->id(), quoted(label), node_colour(*node));
    std::set<std::string> sources;
    for (const Value* value : node->inputs()) {
      if (value && value->producer()) sources.insert(fmt::format("n{}", value->producer()->id()));
      if (value && !value->producer() && is_data(*value)) sources.insert(quoted(value->name()));
    }
    for (const std::string& source : sources) dot += fmt::format("  {} -> n{};\n", source, node->id());
  }
  return dot + "}\n";
}

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace onward::cli
