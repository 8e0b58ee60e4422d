// SPDX-License-Identifier: Apache-2.0
#include "allocator/address_ranges.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace memtape {
namespace {

std::size_t power_of_two(Bytes size) {
  return std::bit_width(static_cast<std::uint64_t>(size)) - 1;
}

}  // namespace

std::size_t AddressRanges::first_at_or_below(Address address) const {
  const auto at = std::partition_point(ranges_.begin(), ranges_.end(),
                                       [&](const AddressRange& r) { return r.address > address; });
  return static_cast<std::size_t>(at - ranges_.begin());
}

void AddressRanges::insert(AddressRange range, const AddressRange& bounds) {
  std::size_t i = first_at_or_below(range.address);
  if (i > 0 && ranges_[i - 1].address == range.end() && range.end() < bounds.end()) {
    range.size += ranges_[i - 1].size;
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(--i));
  }
  if (i < ranges_.size() && ranges_[i].end() == range.address &&
      ranges_[i].address >= bounds.address) {
    ranges_[i].size += range.size;
    return note(ranges_[i]);
  }
  note(range);
  ranges_.insert(ranges_.begin() + static_cast<std::ptrdiff_t>(i), range);
}

/// A range that is new, or has grown.
void AddressRanges::note(const AddressRange& range) {
  if (range.size <= 0) return;
  largest_ = std::max(largest_, range.size);
  for (std::size_t power = 0; power <= power_of_two(range.size); ++power)
    no_lower_[power] = std::min(no_lower_[power], range.address);
}

void AddressRanges::remove(const AddressRange& range) {
  const std::size_t i = first_at_or_below(range.address);
  if (i == ranges_.size() || ranges_[i].end() < range.end()) return;
  const AddressRange low{ranges_[i].address, range.address - ranges_[i].address};
  const AddressRange high{range.end(), ranges_[i].end() - range.end()};
  const auto at = ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
  const auto next = low.size > 0 ? ranges_.insert(at, low) : at;
  if (high.size > 0) ranges_.insert(next, high);
}

bool AddressRanges::overlaps(const AddressRange& range) const {
  const std::size_t i = first_at_or_below(range.address);
  return (i < ranges_.size() && ranges_[i].end() > range.address) ||
         (i > 0 && ranges_[i - 1].address < range.end());
}

std::optional<Address> AddressRanges::take_lowest(Bytes size) {
  if (size > largest_) return std::nullopt;
  const std::size_t power = power_of_two(size);
  const Bytes floor = Bytes{1} << power;
  Address lowest = std::numeric_limits<Address>::max();  // of those not smaller than `floor`
  Bytes largest = floor - 1;
  std::size_t i = std::min(first_at_or_below(no_lower_[power]) + 1, ranges_.size());
  while (i-- > 0) {
    AddressRange& range = ranges_[i];
    if (range.size < floor) continue;
    lowest = std::min(lowest, range.address);
    largest = std::max(largest, range.size);
    if (range.size < size) continue;
    const Address address = range.address;
    range.address += size;
    range.size -= size;
    if (range.size == 0) ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    no_lower_[power] = lowest;
    return address;
  }
  no_lower_[power] = lowest;
  largest_ = largest;
  return std::nullopt;
}

std::optional<Address> AddressRanges::take_highest(Bytes size) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    AddressRange& range = ranges_[i];
    if (range.size < size) continue;
    range.size -= size;
    const Address address = range.end();
    if (range.size == 0) ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    return address;
  }
  return std::nullopt;
}

}  // namespace memtape
