// SPDX-License-Identifier: Apache-2.0
// Parameters that no output depends on (Reducer::search_unused_parameters of
// torch/csrc/distributed/c10d/reducer.cpp): the graph is walked from the outputs' functions, and
// accumulators that are not met belong to unused parameters.
#pragma once

#include <vector>

#include "framework/ddp/buckets.h"
#include "ghost/autograd/node.h"

namespace memtape::ddp {

/// The places of `accumulators` that cannot be reached from `outputs`.
Places unused_parameters(const std::vector<ghost::Tensor>& outputs,
                         const std::vector<ghost::Ptr<ghost::Node>>& accumulators);

}  // namespace memtape::ddp
