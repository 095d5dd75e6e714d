#include "runtime/min_cut.h"

#include <algorithm>

namespace onward {

int MinCut::add_node() {
  edges_of_.emplace_back();
  return static_cast<int>(edges_of_.size()) - 1;
}

void MinCut::add_edge(int from, int to, int64_t capacity) {
  edges_of_[static_cast<std::size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[static_cast<std::size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::find_levels() {
  level_.assign(edges_of_.size(), -1);
  level_[kSource] = 0;
  std::vector<int> queue{kSource};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (int e : edges_of_[static_cast<std::size_t>(queue[i])]) {
      const Edge& edge = edges_[static_cast<std::size_t>(e)];
      int& level = level_[static_cast<std::size_t>(edge.to)];
      if (edge.capacity == 0 || level >= 0) continue;
      level = level_[static_cast<std::size_t>(queue[i])] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

int64_t MinCut::push(int node, int64_t limit) {
  if (node == kSink) return limit;
  const auto n = static_cast<std::size_t>(node);
  for (; next_[n] < edges_of_[n].size(); ++next_[n]) {
    const auto e = static_cast<std::size_t>(edges_of_[n][next_[n]]);
    if (edges_[e].capacity == 0 || level_[static_cast<std::size_t>(edges_[e].to)] != level_[n] + 1) continue;
    const int64_t pushed = push(edges_[e].to, std::min(limit, edges_[e].capacity));
    if (pushed == 0) continue;
    edges_[e].capacity -= pushed;
    edges_[e ^ 1].capacity += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinCut::source_side() {
  while (find_levels()) {
    next_.assign(edges_of_.size(), 0);
    while (push(kSource, kInfinite) > 0) {
    }
  }
  std::vector<bool> side(edges_of_.size());
  for (std::size_t i = 0; i < side.size(); ++i) side[i] = level_[i] >= 0;
  return side;
}

}  // namespace onward
