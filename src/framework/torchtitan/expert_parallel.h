// SPDX-License-Identifier: Apache-2.0
// all_to_all_single of rows between the ranks that share experts
// (torch/distributed/_functional_collectives.py, all_to_all_single_autograd), as torchtitan's
// distributed/expert_parallel.py calls it.
#pragma once

#include "ghost/tensor.h"

namespace memtape::torchtitan {

/// `rows` rows come for those of `x` that go; backward sends them the other way.
ghost::Tensor all_to_all_single(const ghost::Tensor& x, std::int64_t rows);

}  // namespace memtape::torchtitan
