// SPDX-License-Identifier: Apache-2.0
// What NCCL takes on the device for a communicator, outside the framework's allocator.
//
// NCCL connects lazily: a connection to a peer, with its buffers, is made when the first collective
// of a kind runs. A connection holds one buffer per protocol (src/transport/p2p.cc, src/init.cc of
// NCCL 2.30): LL 512 KiB, LL128 4,800 KiB, SIMPLE 4 MiB (NCCL_BUFFSIZE), with the head and tail
// page 10 MiB where it receives (in whole pages of 2 MiB) and 2 MiB where it sends; each channel
// has connections of its own. How many channels there are follows from the machine's topology,
// which is not known here: 2 where GPUs have PCIe alone, up to 32 over NVLink. So the answer is a
// range.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace memtape {

/// What a communicator is used for: which peers a rank connects to.
enum class Traffic {
  collective,  ///< rings, and trees or NVLink's switch (NVLS) where NCCL prefers them
  neighbours,  ///< send and receive along a pipeline
  all_to_all   ///< send and receive between all
};

struct Communicator {
  std::string name;  ///< "dp": the axis of the mesh whose ranks it joins
  std::int64_t ranks = 1;
  Traffic traffic = Traffic::collective;
};

struct MemoryRange {
  Bytes low = 0, high = 0;
};

/// `capability_major` of the devices: from 9 on NVLS buffers may come on top.
MemoryRange nccl_memory(const Communicator& communicator, int capability_major);

}  // namespace memtape
