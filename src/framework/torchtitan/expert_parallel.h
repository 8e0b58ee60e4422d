// SPDX-License-Identifier: Apache-2.0
// all_to_all_single of rows between the ranks that share experts
// (torch/distributed/_functional_collectives.py, all_to_all_single_autograd), as
// distributed/expert_parallel.py of torchtitan calls it.
#pragma once

#include "ghost/tensor.h"

namespace memtape::torchtitan {

/// Sends the rows of `x` and receives `rows` rows. Backward sends them the opposite way.
ghost::Tensor all_to_all_single(const ghost::Tensor& x, std::int64_t rows);

}  // namespace memtape::torchtitan
