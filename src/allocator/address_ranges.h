// SPDX-License-Identifier: Apache-2.0
// AddressRanges: free stretches of address space, apart from each other, kept in one flat vector
// from the highest down to the lowest, because regions open downwards and the newest stretch is the
// lowest.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "allocator/driver.h"

namespace memtape {

class AddressRanges {
 public:
  /// Adds a range; neighbours that touch it and lie within `bounds` become one with it.
  void insert(AddressRange range, const AddressRange& bounds);
  /// Takes `range`, which lies inside one of the ranges, out of it.
  void remove(const AddressRange& range);

  bool overlaps(const AddressRange& range) const;

  /// The low end of the lowest range that holds `size`, taken out.
  std::optional<Address> take_lowest(Bytes size);
  /// The high end of the highest range that holds `size`, taken out.
  std::optional<Address> take_highest(Bytes size);

 private:
  std::size_t first_at_or_below(Address address) const;

  void note(const AddressRange& range);

  std::vector<AddressRange> ranges_;  ///< by address, descending
  Bytes largest_ = 0;                 ///< no range is larger
  /// By power of two: every range below this address is smaller than that.
  std::array<Address, 64> no_lower_{};
};

}  // namespace memtape
