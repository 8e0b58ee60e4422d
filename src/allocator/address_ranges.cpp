// SPDX-License-Identifier: Apache-2.0
#include "allocator/address_ranges.h"

#include <algorithm>

namespace memtape {

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
    largest_ = std::max(largest_, ranges_[i].size);
    return;
  }
  largest_ = std::max(largest_, range.size);
  ranges_.insert(ranges_.begin() + static_cast<std::ptrdiff_t>(i), range);
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
  Bytes largest = 0;
  for (std::size_t i = ranges_.size(); i-- > 0;) {
    AddressRange& range = ranges_[i];
    largest = std::max(largest, range.size);
    if (range.size < size) continue;
    const Address address = range.address;
    range.address += size;
    range.size -= size;
    if (range.size == 0) ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    return address;
  }
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
