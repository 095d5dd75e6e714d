#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/core/registry.h"

namespace onward::cli {

// One kind of operation in a graph.
struct OpSummary {
  std::string op;
  int64_t count = 0;
  double flops = 0;
};

// Kinds in order of falling flops, then by name.
std::vector<OpSummary> summarise_ops(const Graph& graph, const Registry& registry);
// 0 where shapes are not known yet.
double node_flops(const Node& node, const Registry& registry);

// One collective of a training program, in the order in which they are issued.
struct CollectiveSummary {
  int64_t id = 0;
  std::string op;
  std::string origin;
  int64_t operands = 0;
  int64_t bytes = 0;
};
std::vector<CollectiveSummary> summarise_collectives(const Graph& graph, const Registry& registry);

nlohmann::ordered_json graph_to_json(const Graph& graph, const Registry& registry);
// The graph as a drawing for Graphviz: nodes with the type of their first output, and one edge from a node to each that
// reads its outputs. Parameters, state, constants and the scalars of a step are left out.
std::string graph_to_dot(const Graph& graph);

// 14041802 -> "14,041,802".
std::string with_commas(int64_t number);

}  // namespace onward::cli
