// SPDX-License-Identifier: Apache-2.0
// Collectives: how long a message between GPUs takes. Inside one NVLink domain the time is that
// which NCCL was measured to take for the size. Between nodes it is that of a ring, whose pace is
// set by the slower one of NVLink and the network cards: each rank of the group in a node adds its
// own card.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "time/machine.h"

namespace memtape::time {

enum class Message : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };

/// A process group: its number of ranks, and how many of them share a node (an NVLink domain).
struct Group {
  std::int64_t ranks = 1;
  std::int64_t near = 1;

  /// `ranks` ranks that lie `stride` apart, on machines with `domain` cards.
  static Group strided(std::int64_t ranks, std::int64_t stride, std::int64_t domain);
};

class Collectives {
 public:
  explicit Collectives(const Machine& machine);

  /// `bytes` is the size of the whole buffer: what an all-gather leaves on a rank, what each rank
  /// hands to a reduction, or all that each rank sends in an all-to-all.
  double seconds(Message message, double bytes, Group group) const;
  /// The all-reduce for short messages that inference servers implement themselves.
  double served_all_reduce(double bytes, std::int64_t ranks) const;
  /// A message from one rank to one other rank.
  double send(double bytes, bool near) const;

 private:
  /// A measurement for the number of ranks that is nearest to the group's, and that number. The
  /// time is less than 0 if there is no measurement.
  struct Measured {
    double seconds = -1, ranks = 2;
  };
  Measured measured(std::size_t message, double bytes, std::int64_t ranks) const;
  double near(Message message, double bytes, std::int64_t ranks) const;
  double far(Message message, double bytes, Group group) const;

  Machine machine_;
  std::span<const float> rows_[5][3];  ///< by message, and by 2, 4 or 8 ranks
  double scale_ = 1;  ///< the speed of the measured GPU's link divided by that of this machine's
};

}  // namespace memtape::time
