// SPDX-License-Identifier: Apache-2.0
#include "allocator/driver.h"

#include <array>
#include <string>

#include "allocator/placement.h"
#include "base/text.h"

namespace memtape {
namespace {

constexpr std::array<std::string_view, 2> kPlacementNames{"linux", "first-fit"};

}  // namespace

bool Driver::has_room_for(Bytes size) const {
  return memory_.total == kUnlimited || size <= memory_.total - memory_.outside - used_;
}

std::optional<Address> Driver::allocate(Bytes size) {
  const Bytes pages = round_up(size, kDriverPage);
  if (!has_room_for(pages)) return std::nullopt;
  const auto address = place(pages);
  if (address) used_ += pages;
  return address;
}

void Driver::release(const AddressRange& segment) {
  const AddressRange pages{segment.address, round_up(segment.size, kDriverPage)};
  give_back(pages);
  used_ -= pages.size;
}

bool Driver::map(const AddressRange& range) {
  if (!has_room_for(range.size) || !may_map(range)) return false;
  used_ += range.size;
  return true;
}

void Driver::unmap(const AddressRange& range) {
  used_ -= range.size;
  unmapped(range);
}

void Driver::adopt(std::span<const AddressRange> segments) {
  occupy(segments);
  for (const AddressRange& segment : segments) used_ += round_up(segment.size, kDriverPage);
}

Result<DriverPlacement> driver_placement_from_name(std::string_view text) {
  for (std::size_t i = 0; i < kPlacementNames.size(); ++i)
    if (text == kPlacementNames[i]) return static_cast<DriverPlacement>(i);
  return bad_input("unknown placement '" + std::string(text) + "'", "--driver-placement",
                   suggestion(text, kPlacementNames));
}

std::string_view name(DriverPlacement placement) {
  return kPlacementNames[static_cast<std::size_t>(placement)];
}

std::unique_ptr<Driver> make_driver(DriverPlacement placement, const DeviceMemory& memory) {
  if (placement == DriverPlacement::linux_regions) return std::make_unique<LinuxDriver>(memory);
  return std::make_unique<FirstFitDriver>(memory);
}

}  // namespace memtape
