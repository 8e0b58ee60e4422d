// SPDX-License-Identifier: Apache-2.0
#include "allocator/placement.h"

#include <algorithm>

namespace memtape {

LinuxDriver::LinuxDriver(const DeviceMemory& memory) : Driver(memory) {
  gaps_.insert({kRegion, kAddressSpace.end() / kRegion * kRegion - kRegion}, kAddressSpace);
}

std::vector<LinuxDriver::Region>::iterator LinuxDriver::region_of(Address address) {
  return std::partition_point(regions_.begin(), regions_.end(),
                              [&](const Region& r) { return r.range.address > address; });
}

void LinuxDriver::open_region(const AddressRange& range, Bytes taken) {
  regions_.insert(region_of(range.address), Region{range, taken});
  if (taken < range.size) holes_.insert({range.address + taken, range.size - taken}, range);
}

std::optional<Address> LinuxDriver::place(Bytes size) {
  if (const auto address = holes_.take_lowest(size)) {
    region_of(*address)->used += size;
    return address;
  }
  const Bytes region = round_up(size, kRegion);
  const auto low = gaps_.take_highest(region);
  if (low) open_region({*low, region}, size);
  return low;
}

void LinuxDriver::give_back(const AddressRange& segment) {
  const auto region = region_of(segment.address);
  holes_.insert(segment, region->range);
  if ((region->used -= segment.size) > 0) return;
  holes_.remove(region->range);
  gaps_.insert(region->range, kAddressSpace);
  regions_.erase(region);
}

std::optional<Address> LinuxDriver::reserve(Bytes size) {
  return gaps_.take_highest(round_up(size, kRegion));
}

void LinuxDriver::unreserve(const AddressRange& range) {
  gaps_.insert({range.address, round_up(range.size, kRegion)}, kAddressSpace);
}

/// The regions that recorded segments lie in are not recorded: each is taken to be the 32 MiB
/// granules that its segments touch. Nothing is known about the addresses between and above them,
/// so new regions open below the lowest.
void LinuxDriver::occupy(std::span<const AddressRange> segments) {
  if (segments.empty()) return;
  const Address lowest = segments.front().address / kRegion * kRegion;
  gaps_ = {};
  if (lowest > kRegion) gaps_.insert({kRegion, lowest - kRegion}, kAddressSpace);
  for (std::size_t i = 0; i < segments.size();) {
    const Address low = segments[i].address / kRegion * kRegion;
    Address high = round_up(segments[i].end(), kRegion);
    std::size_t end = i + 1;
    while (end < segments.size() && segments[end].address < high)
      high = std::max(high, round_up(segments[end++].end(), kRegion));
    open_region({low, high - low}, 0);
    for (; i < end; ++i) {
      const Bytes pages = round_up(segments[i].size, kDriverPage);
      holes_.remove({segments[i].address, pages});
      region_of(low)->used += pages;
    }
  }
}

FirstFitDriver::FirstFitDriver(const DeviceMemory& memory) : Driver(memory) {
  free_.insert(kAddressSpace, kAddressSpace);
}

void FirstFitDriver::occupy(std::span<const AddressRange> segments) {
  if (segments.empty()) return;
  const Address lowest = segments.front().address;
  free_ = {};
  if (lowest >= kAddressSpace.end()) return;
  free_.insert({lowest, kAddressSpace.end() - lowest}, kAddressSpace);
  for (const AddressRange& segment : segments)
    free_.remove({segment.address, round_up(segment.size, kDriverPage)});
}

}  // namespace memtape
