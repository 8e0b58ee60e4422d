// SPDX-License-Identifier: Apache-2.0
#include "core/address_space.h"

#include <iterator>
#include <limits>

namespace memtape::phantom {
namespace {

constexpr std::size_t kEverywhere = std::numeric_limits<std::size_t>::max();

}  // namespace

/// Adds a free range; it joins its neighbours within the bounds.
void AddressSpace::add(Ranges& ranges, std::size_t offset, std::size_t length, Bounds within) {
  auto next = ranges.lower_bound(offset);
  if (next != ranges.end() && next->first == offset + length && next->first < within.high) {
    length += next->second;
    next = ranges.erase(next);
  }
  if (next != ranges.begin()) {
    const auto before = std::prev(next);
    if (before->first >= within.low && before->first + before->second == offset) {
      before->second += length;
      return;
    }
  }
  ranges[offset] = length;
}

/// The low end of the lowest range that is large enough; the rest stays.
std::optional<std::size_t> AddressSpace::lowest(Ranges& ranges, std::size_t size) {
  for (auto at = ranges.begin(); at != ranges.end(); ++at) {
    if (at->second < size) continue;
    const auto [offset, length] = *at;
    ranges.erase(at);
    if (length > size) ranges[offset + size] = length - size;
    return offset;
  }
  return std::nullopt;
}

/// The top of the highest gap that is large enough.
std::optional<std::size_t> AddressSpace::open_gap(std::size_t size) {
  for (auto at = gaps_.end(); at != gaps_.begin();) {
    --at;
    if (at->second < size) continue;
    const std::size_t offset = at->first + at->second - size;
    if ((at->second -= size) == 0) gaps_.erase(at);
    return offset;
  }
  return std::nullopt;
}

std::optional<std::size_t> AddressSpace::take_in_regions(std::size_t size) {
  std::optional<std::size_t> offset = lowest(holes_, size);
  if (!offset) {
    const std::size_t length = round_up(size, kRegion);
    const std::optional<std::size_t> region = open_gap(length);
    if (!region) return std::nullopt;
    regions_[*region] = {length, 0};
    if (length > size) holes_[*region + size] = length - size;
    offset = region;
  }
  std::prev(regions_.upper_bound(*offset))->second.used += size;
  return offset;
}

void AddressSpace::give_in_regions(std::size_t offset, std::size_t size) {
  const auto region = std::prev(regions_.upper_bound(offset));
  const std::size_t low = region->first, high = low + region->second.size;
  add(holes_, offset, size, {low, high});
  if ((region->second.used -= size) != 0) return;
  holes_.erase(low);
  regions_.erase(region);
  add(gaps_, low, high - low, {0, kEverywhere});
}

std::optional<std::size_t> AddressSpace::take(std::size_t size) {
  const std::optional<std::size_t> offset =
      first_fit_ ? lowest(gaps_, size) : take_in_regions(size);
  if (offset) live_[*offset] = size;
  return offset;
}

std::optional<std::size_t> AddressSpace::give(std::size_t offset) {
  const auto found = live_.find(offset);
  if (found == live_.end()) return std::nullopt;
  const std::size_t size = found->second;
  live_.erase(found);
  if (first_fit_)
    add(gaps_, offset, size, {0, kEverywhere});
  else
    give_in_regions(offset, size);
  return size;
}

std::optional<std::size_t> AddressSpace::reserve(std::size_t size) {
  size = round_up(size, kRegion);
  const std::optional<std::size_t> offset = open_gap(size);
  if (offset) reserved_[*offset] = size;
  return offset;
}

void AddressSpace::unreserve(std::size_t offset) {
  const auto found = reserved_.find(offset);
  if (found == reserved_.end()) return;
  add(gaps_, offset, found->second, {0, kEverywhere});
  reserved_.erase(found);
}

std::optional<std::pair<std::size_t, std::size_t>> AddressSpace::range_of(
    std::size_t offset) const {
  const auto after = live_.upper_bound(offset);
  if (after == live_.begin()) return std::nullopt;
  const auto& [start, size] = *std::prev(after);
  if (offset >= start + size) return std::nullopt;
  return std::pair(start, size);
}

}  // namespace memtape::phantom
