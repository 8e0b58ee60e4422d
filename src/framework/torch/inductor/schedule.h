// SPDX-License-Identifier: Apache-2.0
// Schedule: the buffers that one of a graph's two halves makes, in order, each with the buffers it
// reads once the fused values between are taken apart; and what the forward saves for the other.
#pragma once

#include <vector>

#include "framework/torch/inductor/graph.h"

namespace memtape::torch::inductor {

struct Step {
  ValueId value;
  std::vector<ValueId> reads;  ///< buffers
};

/// What the backward takes from the forward, the input first.
std::vector<ValueId> saved_values(const Graph& graph);

/// The steps of one half, in the order of the graph: its kernels, its `outputs`, and before each
/// what it reads that is not `given`.
struct Half {
  bool backward = false;
  const std::vector<ValueId>& outputs;
  const std::vector<ValueId>& given;
};
std::vector<Step> schedule(const Graph& graph, const Half& half);

}  // namespace memtape::torch::inductor
