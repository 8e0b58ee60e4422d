// SPDX-License-Identifier: Apache-2.0
#include "mesh/nccl.h"

#include <algorithm>

namespace memtape {
namespace {

/// A connection's two ends on one GPU, per channel: what it receives into, what it sends with.
constexpr Bytes kReceiving = 10_MiB, kSending = 2_MiB, kConnection = kReceiving + kSending;
constexpr std::int64_t kFewestChannels = 2, kMostChannels = 32;
/// Connections of a rank in a binary tree: one up, two down (graph/trees.cc).
constexpr std::int64_t kTreeConnections = 3;

/// transport/nvls.cc: 16 channels x 2 buffers x 8 steps of 128 KiB for each GPU of the node.
constexpr Bytes kNvlsPerGpu = 16 * 2 * 8 * 128_KiB;
constexpr std::int64_t kGpusOfNode = 8, kFewestForNvls = 3;

Bytes nvls(std::int64_t ranks, int capability_major) {
  if (capability_major < 9 || ranks < kFewestForNvls) return 0;
  return kNvlsPerGpu * std::min(ranks, kGpusOfNode);
}

}  // namespace

MemoryRange nccl_memory(const Communicator& communicator, int capability_major) {
  const std::int64_t peers = communicator.ranks - 1;
  if (peers < 1) return {};
  switch (communicator.traffic) {
    case Traffic::collective:
      return {kFewestChannels * kConnection,
              kMostChannels * kConnection * (1 + std::min(peers, kTreeConnections)) +
                  nvls(communicator.ranks, capability_major)};
    case Traffic::neighbours: {
      const std::int64_t sides = std::min<std::int64_t>(peers, 2);
      return {sides * kConnection, sides * kMostChannels * kConnection};
    }
    case Traffic::all_to_all: return {peers * kConnection, peers * kMostChannels * kConnection};
  }
  return {};
}

}  // namespace memtape
