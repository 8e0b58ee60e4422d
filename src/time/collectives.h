// SPDX-License-Identifier: Apache-2.0
// Collectives: how long a message between GPUs takes. Inside one NVLink domain as NCCL was measured
// there, by size; between nodes a ring whose pace the slower of NVLink and the network cards sets:
// each rank of the group that sits in a node brings a card of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "time/machine.h"

namespace memtape::time {

enum class Message : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };

/// A process group: how many ranks, and how many of them share a node (NVLink domain).
struct Group {
  std::int64_t ranks = 1;
  std::int64_t near = 1;

  /// Ranks that lie `stride` apart, `ranks` of them, on machines of `domain` cards.
  static Group strided(std::int64_t ranks, std::int64_t stride, std::int64_t domain);
};

class Collectives {
 public:
  explicit Collectives(const Machine& machine);

  /// `bytes`: of the whole buffer (what an all-gather leaves on a rank; what each rank hands to a
  /// reduction; what each rank sends in all of an all-to-all).
  double seconds(Message message, double bytes, Group group) const;
  /// The all-reduce that servers have of their own for short messages.
  double served_all_reduce(double bytes, std::int64_t ranks) const;
  /// From one rank to one other.
  double send(double bytes, bool near) const;

 private:
  /// Measured over the ranks that are nearest to those, and how many these were; or less than 0.
  struct Measured {
    double seconds = -1, ranks = 2;
  };
  Measured measured(std::size_t message, double bytes, std::int64_t ranks) const;
  double near(Message message, double bytes, std::int64_t ranks) const;
  double far(Message message, double bytes, Group group) const;

  Machine machine_;
  std::span<const float> rows_[5][3];  ///< by message, and by 2, 4 or 8 ranks
  double scale_ = 1;                   ///< of the witness's link over this machine's
};

}  // namespace memtape::time
