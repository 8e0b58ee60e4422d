// SPDX-License-Identifier: Apache-2.0
#include "core/attributes.h"

#include "core/capability.h"
#include "core/settings.h"

namespace memtape::phantom {
namespace {

struct Attribute {
  int number, value;
};

/// What all devices since compute capability 7.0 have in common.
constexpr Attribute kCommon[] = {
    {1, kThreadsPerBlock},  // max threads per block
    {2, 1024},
    {3, 1024},
    {4, 64},  // block dimensions
    {5, 2147483647},
    {6, 65535},
    {7, 65535},            // grid dimensions
    {8, kSharedPerBlock},  // shared memory per block
    {9, kConstantMemory},
    {10, kWarp},
    {11, 2147483647},  // pitch
    {12, kRegisters},  // registers per block
    {14, 512},         // texture alignment
    {15, 1},           // copies overlap kernels
    {19, 1},           // can map host memory
    {31, 1},           // concurrent kernels
    {37, 5120},        // memory bus width in bits
    {38, kL2Bytes},
    {40, 3},   // copy engines
    {41, 1},   // unified addressing
    {51, 32},  // texture pitch alignment
    {78, 1},
    {79, 1},
    {80, 1},           // stream priorities, L1 caches
    {82, kRegisters},  // registers per multiprocessor
    {83, 1},
    {89, 1},
    {90, 1},  // managed memory, concurrently; compute preemption
    {95, 1},  // cooperative launch
    {99, 1},  // host memory can be registered
    {102, 1},
    {103, 1},     // virtual memory management; shareable as file descriptors
    {111, 1024},  // shared memory that the driver keeps per block
    {115, 1},
    {119, 1},  // memory pools; shareable as file descriptors
    {125, 1},  // events between processes
};

}  // namespace

int device_attribute(int attribute, int device) {
  const Settings& s = settings();
  const Capability facts = capability_facts(s.capability);
  switch (attribute) {
    case 16: return s.sms;
    case 33: return s.visible[static_cast<std::size_t>(device)] + 1;  // PCI bus
    case 39: return facts.threads_per_sm;
    case 75: return s.major();
    case 76: return s.minor();
    case 81: return facts.shared_per_sm;
    case 97: return facts.shared_per_block_optin;
    case 106: return facts.blocks_per_sm;
    case 120: return s.major() >= 9 ? 1 : 0;  // clusters
    default: break;
  }
  for (const Attribute& common : kCommon)
    if (common.number == attribute) return common.value;
  return 0;
}

}  // namespace memtape::phantom
