// SPDX-License-Identifier: Apache-2.0
// AddressRanges: free stretches of address space that do not touch each other, in one flat vector
// from the highest to the lowest: regions open downwards, so the newest stretch is the lowest.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "allocator/driver.h"

namespace memtape {

class AddressRanges {
 public:
  /// Adds a range. Neighbours that touch it and lie within `bounds` are merged with it.
  void insert(AddressRange range, const AddressRange& bounds);
  /// Removes `range`, which must lie inside one of the ranges.
  void remove(const AddressRange& range);

  bool overlaps(const AddressRange& range) const;

  /// Removes `size` bytes from the low end of the lowest range that holds them, and returns their
  /// address.
  std::optional<Address> take_lowest(Bytes size);
  /// Removes `size` bytes from the high end of the highest range that holds them, and returns their
  /// address.
  std::optional<Address> take_highest(Bytes size);

 private:
  std::size_t first_at_or_below(Address address) const;

  void note(const AddressRange& range);

  std::vector<AddressRange> ranges_;  ///< by address, descending
  Bytes largest_ = 0;                 ///< no range is larger
  /// By power of two: every range below this address is smaller than that power.
  std::array<Address, 64> no_lower_{};
};

}  // namespace memtape
