// SPDX-License-Identifier: Apache-2.0
// AddressSpace: where the driver puts memory, and how much of it is taken. The addresses matter:
// PyTorch's allocator breaks ties between free blocks by address, so they decide which block is
// reused.
//
// On Linux, as memory snapshots of real devices show, a request takes the lowest hole of the open
// regions that is large enough. If there is none, a new region, a multiple of 32 MiB, is opened at
// the top of the highest gap. A region without memory is closed. With first fit (as on WSL) a
// request takes the lowest hole. Both hand out pages of 2 MiB.
//
//   |  gap  |== region: | live | hole | live | hole ==|  gap  |== region ==|
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>

namespace memtape::phantom {

inline constexpr std::size_t kPage = std::size_t{2} << 20, kRegion = std::size_t{32} << 20;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

class AddressSpace {
 public:
  AddressSpace(std::size_t length, bool first_fit) : first_fit_(first_fit) { gaps_[0] = length; }

  /// The offset of `size` bytes (a multiple of a page), or nothing if the space is exhausted.
  std::optional<std::size_t> take(std::size_t size);
  /// Frees what `take` returned. It returns the size, or nothing if the offset was not taken.
  std::optional<std::size_t> give(std::size_t offset);

  /// Takes addresses without memory behind them, as whole regions from the highest gap.
  std::optional<std::size_t> reserve(std::size_t size);
  void unreserve(std::size_t offset);

  /// The start and the size of the live range that holds `offset`.
  std::optional<std::pair<std::size_t, std::size_t>> range_of(std::size_t offset) const;

 private:
  using Ranges = std::map<std::size_t, std::size_t>;  ///< offset -> length
  struct Region {
    std::size_t size, used;
  };
  struct Bounds {
    std::size_t low, high;
  };

  static void add(Ranges& ranges, std::size_t offset, std::size_t length, Bounds within);
  static std::optional<std::size_t> lowest(Ranges& ranges, std::size_t size);
  std::optional<std::size_t> open_gap(std::size_t size);
  std::optional<std::size_t> take_in_regions(std::size_t size);
  void give_in_regions(std::size_t offset, std::size_t size);

  bool first_fit_;
  Ranges gaps_;   ///< outside regions
  Ranges holes_;  ///< free ranges inside regions
  std::map<std::size_t, Region> regions_;
  std::map<std::size_t, std::size_t> live_;
  std::unordered_map<std::size_t, std::size_t> reserved_;
};

}  // namespace memtape::phantom
