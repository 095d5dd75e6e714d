#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace onward {

// Minimum cut of a directed graph with capacities, by Dinic's algorithm (1970). Used to decide between two layouts at
// the least cost of conversions.
class MinCut {
 public:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;
  static constexpr int64_t kInfinite = INT64_C(1) << 60;

  MinCut() : edges_of_(2) {}

  int add_node();
  // Cutting the edge, `from` on the source's side and `to` on the sink's, costs `capacity`.
  void add_edge(int from, int to, int64_t capacity);
  // For each node, whether it is on the source's side: the smallest such side among all minimum cuts.
  std::vector<bool> source_side();

 private:
  struct Edge {
    int to;
    int64_t capacity;  // left
  };
  bool find_levels();
  int64_t push(int node, int64_t limit);

  std::vector<Edge> edges_;  // an edge and its reverse are neighbours: e and e ^ 1
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace onward
