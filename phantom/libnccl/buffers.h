// SPDX-License-Identifier: Apache-2.0
// The bytes that a communicator's connections take on the device, from NCCL's own constants
// (src/include/device.h and src/init.cc of NCCL 2.x; NCCL_BUFFSIZE and NCCL_MAX_NCHANNELS are its
// documented settings):
//
//   Simple   4 MiB (NCCL_BUFFSIZE)
//   LL       8 lines x 512 threads x 8 steps x 16 bytes
//   LL128    120 elements x 640 threads x 8 steps x 8 bytes
//
// A ring has one receiving connection for each channel. How many channels and trees a machine gets
// depends on its links, and a phantom has no links. Two channels, the fewest that NCCL opens
// between two GPUs, make this a lower bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace memtape::phantom {

constexpr std::int64_t kLowLatencyBuffer = 8 * 512 * 8 * 16,
                       kLowLatency128Buffer = 120 * 640 * 8 * 8;
constexpr std::int64_t kSimpleBuffer = std::int64_t{4} << 20, kFewestChannels = 2;

inline std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? std::atoll(value) : otherwise;
}

inline std::int64_t ring_buffer_bytes(int ranks) {
  if (ranks < 2) return 0;
  const std::int64_t channels =
      std::max(kFewestChannels, setting("NCCL_MIN_NCHANNELS", kFewestChannels));
  return channels *
         (setting("NCCL_BUFFSIZE", kSimpleBuffer) + kLowLatencyBuffer + kLowLatency128Buffer);
}

}  // namespace memtape::phantom
