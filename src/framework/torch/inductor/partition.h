// SPDX-License-Identifier: Apache-2.0
// Partition: what the forward of a whole model saves for its backward. It is the least cut of
// AOTAutograd's min_cut_rematerialization_partition (torch/_functorch/partitioners.py).
#pragma once

#include <vector>

#include "framework/torch/inductor/graph.h"

namespace memtape::torch::inductor {

/// The values of the forward that the backward of `graph` takes, in their order. Those among them
/// that are inputs belong to the caller.
std::vector<ValueId> min_cut(const Graph& graph);

}  // namespace memtape::torch::inductor
