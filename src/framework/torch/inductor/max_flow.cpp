// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/max_flow.h"

#include <algorithm>

namespace memtape::torch::inductor {

void MaxFlow::connect(std::size_t from, std::size_t to, Capacity capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool MaxFlow::find_levels(std::size_t source, std::size_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::size_t> waiting{source};
  for (std::size_t i = 0; i < waiting.size(); ++i)
    for (const std::size_t e : edges_of_[waiting[i]]) {
      const Edge& edge = edges_[e];
      if (edge.left == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[waiting[i]] + 1;
      waiting.push_back(edge.to);
    }
  return level_[sink] >= 0;
}

/// Along one path of rising levels, found step by step: graphs are too deep for recursion.
MaxFlow::Capacity MaxFlow::push(std::size_t source, std::size_t sink) {
  std::vector<std::size_t> path;
  std::size_t at = source;
  while (at != sink) {
    std::size_t& next = next_[at];
    while (next < edges_of_[at].size()) {
      const Edge& edge = edges_[edges_of_[at][next]];
      if (edge.left > 0 && level_[edge.to] == level_[at] + 1) break;
      ++next;
    }
    if (next < edges_of_[at].size()) {
      path.push_back(edges_of_[at][next]);
      at = edges_[path.back()].to;
      continue;
    }
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to;  // a dead end
    path.pop_back();
    ++next_[at];
  }
  Capacity least = kUnlimited;
  for (const std::size_t e : path) least = std::min(least, edges_[e].left);
  for (const std::size_t e : path) {
    edges_[e].left -= least;
    edges_[e ^ 1].left += least;
  }
  return least;
}

std::vector<bool> MaxFlow::sink_side(std::size_t source, std::size_t sink) {
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (push(source, sink) > 0) {
    }
  }
  std::vector<bool> behind(edges_of_.size());
  behind[sink] = true;
  std::vector<std::size_t> waiting{sink};
  for (std::size_t i = 0; i < waiting.size(); ++i)
    for (const std::size_t e : edges_of_[waiting[i]]) {
      const std::size_t from = edges_[e].to;
      if (behind[from] || edges_[e ^ 1].left == 0) continue;
      behind[from] = true;
      waiting.push_back(from);
    }
  return behind;
}

}  // namespace memtape::torch::inductor
