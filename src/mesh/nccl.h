// SPDX-License-Identifier: Apache-2.0
// What NCCL takes on the device for a communicator, outside the framework's allocator.
//
// NCCL connects lazily: the first collective of a kind makes the connections to peers, with their
// buffers. A connection holds one buffer for each protocol (src/transport/p2p.cc, src/init.cc of
// NCCL 2.30): LL 512 KiB, LL128 4,800 KiB, SIMPLE 4 MiB (NCCL_BUFFSIZE). With the head and tail
// page this is 10 MiB on the receiving side (in whole pages of 2 MiB) and 2 MiB on the sending
// side. Each channel has its own connections. The number of channels depends on the machine's
// topology, which is not known here: it is 2 if GPUs have only PCIe, and up to 32 over NVLink. So
// the answer is a range.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace memtape {

/// What a communicator is used for, which decides to which peers a rank connects.
enum class Traffic {
  collective,  ///< rings, and trees or NVLink's switch (NVLS) if NCCL prefers them
  neighbours,  ///< a rank sends to and receives from its neighbours in a pipeline
  all_to_all   ///< every rank sends to and receives from every other
};

struct Communicator {
  std::string name;  ///< the axis of the mesh whose ranks it joins: "dp"
  std::int64_t ranks = 1;
  Traffic traffic = Traffic::collective;
};

struct MemoryRange {
  Bytes low = 0, high = 0;
};

/// `capability_major` is that of the devices; from 9 on there may be NVLS buffers in addition.
MemoryRange nccl_memory(const Communicator& communicator, int capability_major);

}  // namespace memtape
