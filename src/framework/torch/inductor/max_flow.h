// SPDX-License-Identifier: Apache-2.0
// MaxFlow: the least cut between two nodes of a network (Dinic's algorithm).
#pragma once

#include <cstdint>
#include <vector>

namespace memtape::torch::inductor {

class MaxFlow {
 public:
  using Capacity = std::int64_t;
  static constexpr Capacity kUnlimited = Capacity{1} << 60;

  explicit MaxFlow(std::size_t nodes) : edges_of_(nodes) {}
  void connect(std::size_t from, std::size_t to, Capacity capacity);

  /// For each node, whether it lies behind the least cut. Of all least cuts it is the one nearest
  /// to the sink, which networkx's minimum_cut finds.
  std::vector<bool> sink_side(std::size_t source, std::size_t sink);

 private:
  struct Edge {
    std::size_t to;
    Capacity left;
  };

  bool find_levels(std::size_t source, std::size_t sink);
  Capacity push(std::size_t source, std::size_t sink);

  std::vector<Edge> edges_;  ///< each is followed by its reverse
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace memtape::torch::inductor
