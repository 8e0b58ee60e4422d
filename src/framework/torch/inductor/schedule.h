// SPDX-License-Identifier: Apache-2.0
// Schedule: the buffers that one of the two halves of a graph makes, in order. Each comes with the
// buffers it reads, directly or through fused values. It also says what the forward saves for the
// backward.
#pragma once

#include <vector>

#include "framework/torch/inductor/graph.h"

namespace memtape::torch::inductor {

struct Step {
  ValueId value;
  std::vector<ValueId> reads;  ///< these are buffers
};

/// What the backward takes from the forward; the input comes first.
std::vector<ValueId> saved_values(const Graph& graph);

/// Asks for the steps of one half, in the order of the graph: its kernels, its `outputs`, and
/// before each of these what it reads that is not `given`.
struct Half {
  bool backward = false;
  const std::vector<ValueId>& outputs;
  const std::vector<ValueId>& given;
};
std::vector<Step> schedule(const Graph& graph, const Half& half);

}  // namespace memtape::torch::inductor
