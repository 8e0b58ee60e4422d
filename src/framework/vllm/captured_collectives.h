// SPDX-License-Identifier: Apache-2.0
// What sums over the ranks of tensor parallelism add to CUDA graphs. Where NVLink joins all ranks, or
// two GPUs read each other's memory, vLLM and SGLang sum with a kernel of their own, which is as any
// other (distributed/device_communicators/custom_all_reduce.py). Elsewhere NCCL sums, and the driver
// keeps much more for each of its operations that a graph holds. How much follows from published
// runs with and without, as a range.
#pragma once

#include <cstdint>

#include "framework/vllm/graph_memory.h"
#include "tape/tape.h"

namespace memtape::vllm {

/// The sums over ranks among the events from `from` on.
std::int64_t captured_sums(const Tape& tape, std::size_t from);

/// Whether NCCL sums over the ranks.
bool sums_with_nccl(const Settings& settings);

/// What the driver keeps for `sums` in graphs, beside what it keeps for any kernel.
Executables sums_of_nccl(std::int64_t sums, bool of_cuda_13, const Settings& settings);

}  // namespace memtape::vllm
