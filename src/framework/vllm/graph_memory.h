// SPDX-License-Identifier: Apache-2.0
// GraphMemory: what captured CUDA graphs take on the device. The tensors of all graphs share one
// pool of the allocator. For each kernel of a graph that can be launched the driver keeps memory
// outside the allocator, which no call reports: how much follows from published start-up logs
// ("Graph capturing finished ... took"), as a range.
#pragma once

#include "framework/vllm/startup.h"
#include "mesh/nccl.h"

namespace memtape::vllm {

/// What the driver keeps for graphs that can be launched.
struct Executables {
  Bytes usual = 0;
  MemoryRange range;  ///< what it may be

  Executables operator+(const Executables& o) const {
    return {usual + o.usual, {range.low + o.range.low, range.high + o.range.high}};
  }
};
/// `kernels` are those of all graphs together.
Executables executables_of(std::int64_t kernels, bool of_cuda_13, const DeviceFacts& device);

struct GraphMemory {
  Bytes pool = 0;
  Executables executables;
  Bytes estimate = 0;  ///< profile_cudagraph_memory; 0 in releases without
  Bytes total() const { return pool + executables.usual; }
};

GraphMemory graph_memory(const Startup& startup, const StartupFigures& figures,
                         const Settings& settings);

}  // namespace memtape::vllm
