// SPDX-License-Identifier: Apache-2.0
// What a device of a compute capability offers to a kernel. The source is the CUDA programming
// guide, "Technical specifications per compute capability" (the threads, blocks and shared memory
// of a multiprocessor, and the shared memory that a block may opt in to).
#pragma once

namespace memtape::phantom {

struct Capability {
  int threads_per_sm, shared_per_sm, shared_per_block_optin, blocks_per_sm;
};

constexpr Capability capability_facts(int capability) {
  switch (capability) {
    case 70: return {2048, 98304, 98304, 32};
    case 75: return {1024, 65536, 65536, 16};
    case 80: return {2048, 167936, 166912, 32};
    case 86:
    case 87: return {1536, 102400, 101376, 16};
    case 89:
    case 120:
    case 121: return {1536, 102400, 101376, 24};
    default: return {2048, 233472, 232448, 32};  // 9.0 and 10.x
  }
}

constexpr int kThreadsPerBlock = 1024, kWarp = 32, kRegisters = 65536, kSharedPerBlock = 49152,
              kConstantMemory = 65536;
constexpr int kL2Bytes = 52428800;

}  // namespace memtape::phantom
