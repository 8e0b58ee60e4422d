// SPDX-License-Identifier: Apache-2.0
// What changed between releases of torch, as far as memory shows it.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kVmapIndexesByScalars{
    Package::torch,
    {2, 6, 0},
    "torch.vmap takes functions that index a tensor by a scalar one (TransformGetItemToIndex), as "
    "masks of packed sequences do.",
    "torch/_dynamo/_trace_wrapped_higher_order_op.py; transformers' masking_utils.py"};

}  // namespace memtape::changes
