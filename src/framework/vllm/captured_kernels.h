// SPDX-License-Identifier: Apache-2.0
// How many kernels a stretch of a tape launches, as a CUDA graph of it would hold them. A tape knows
// tensors, not kernels: a kernel is taken to make the tensors of one op of one module, and what
// torch's own pointwise ops and means do for a module in a row is one kernel where they are fused,
// as by Inductor.
// Kernels in place (norms that add, caches that are written) are about as many as tensors without a
// kernel of their own.
#pragma once

#include <cstdint>

#include "tape/tape.h"

namespace memtape::vllm {

/// Of the events from `from` on.
std::int64_t captured_kernels(const Tape& tape, std::size_t from, bool fuses);

}  // namespace memtape::vllm
