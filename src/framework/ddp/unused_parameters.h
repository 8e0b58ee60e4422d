// SPDX-License-Identifier: Apache-2.0
// Parameters on which no output depends (Reducer::search_unused_parameters of
// torch/csrc/distributed/c10d/reducer.cpp). The graph is walked from the functions of the outputs;
// accumulators that the walk does not meet belong to unused parameters.
#pragma once

#include <vector>

#include "framework/ddp/buckets.h"
#include "ghost/autograd/node.h"

namespace memtape::ddp {

/// The places of those `accumulators` that cannot be reached from `outputs`.
Places unused_parameters(const std::vector<ghost::Tensor>& outputs,
                         const std::vector<ghost::Ptr<ghost::Node>>& accumulators);

}  // namespace memtape::ddp
