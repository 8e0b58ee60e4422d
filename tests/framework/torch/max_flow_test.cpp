// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/max_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace memtape::torch::inductor {
namespace {

struct Line {
  std::size_t from, to;
  MaxFlow::Capacity capacity;
};

MaxFlow::Capacity across(const std::vector<Line>& lines, const std::vector<bool>& behind) {
  MaxFlow::Capacity sum = 0;
  for (const Line& line : lines)
    if (!behind[line.from] && behind[line.to]) sum += line.capacity;
  return sum;
}

/// The least cut of all there are, and the fewest nodes behind one.
struct Best {
  MaxFlow::Capacity capacity = MaxFlow::kUnlimited;
  std::size_t nodes = 0;
};
Best by_trial(const std::vector<Line>& lines, std::size_t nodes) {
  Best best;
  for (std::size_t choice = 0; choice < (std::size_t{1} << (nodes - 2)); ++choice) {
    std::vector<bool> behind(nodes);
    behind[nodes - 1] = true;
    std::size_t count = 1;
    for (std::size_t i = 1; i + 1 < nodes; ++i) {
      behind[i] = (choice >> (i - 1)) & 1;
      count += behind[i];
    }
    const MaxFlow::Capacity capacity = across(lines, behind);
    if (capacity < best.capacity || (capacity == best.capacity && count < best.nodes))
      best = {capacity, count};
  }
  return best;
}

TEST(MaxFlow, FindsTheLeastCutNearestToTheSink) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t nodes = 3 + random() % 6;
    std::vector<Line> lines;
    for (std::size_t i = 0; i < 2 * nodes; ++i) {
      const std::size_t from = random() % nodes, to = random() % nodes;
      if (from != to) lines.push_back({from, to, static_cast<MaxFlow::Capacity>(random() % 5)});
    }
    MaxFlow network(nodes);
    for (const Line& line : lines) network.connect(line.from, line.to, line.capacity);
    const std::vector<bool> behind = network.sink_side(0, nodes - 1);
    const Best best = by_trial(lines, nodes);
    EXPECT_EQ(across(lines, behind), best.capacity);
    EXPECT_EQ(static_cast<std::size_t>(std::count(behind.begin(), behind.end(), true)), best.nodes);
  }
}

}  // namespace
}  // namespace memtape::torch::inductor
