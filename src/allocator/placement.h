// SPDX-License-Identifier: Apache-2.0
// The two placement rules of Driver. Both are pure bookkeeping of addresses; limits are counted in
// Driver.
#pragma once

#include <vector>

#include "allocator/address_ranges.h"
#include "allocator/driver.h"

namespace memtape {

/// User address space of x86-64 Linux: 47 bits, the first 2 MiB left out.
inline constexpr AddressRange kAddressSpace{kDriverPage, (Address{1} << 47) - 2 * kDriverPage};

class LinuxDriver final : public Driver {
 public:
  static constexpr Bytes kRegion = 32 << 20;

  explicit LinuxDriver(const DeviceMemory& memory = {});

  std::optional<Address> reserve(Bytes size) override;
  void unreserve(const AddressRange& range) override;

 private:
  struct Region {
    AddressRange range;
    Bytes used = 0;
  };

  std::optional<Address> place(Bytes size) override;
  void give_back(const AddressRange& segment) override;
  void occupy(std::span<const AddressRange> segments) override;

  std::vector<Region>::iterator region_of(Address address);
  /// Marks its low `taken` bytes as used.
  void open_region(const AddressRange& range, Bytes taken);

  AddressRanges gaps_;           ///< outside regions
  AddressRanges holes_;          ///< inside regions
  std::vector<Region> regions_;  ///< by address, descending
};

class FirstFitDriver final : public Driver {
 public:
  explicit FirstFitDriver(const DeviceMemory& memory = {});

  std::optional<Address> reserve(Bytes size) override {
    return free_.take_lowest(round_up(size, kDriverPage));
  }
  void unreserve(const AddressRange& range) override {
    give_back({range.address, round_up(range.size, kDriverPage)});
  }

 private:
  std::optional<Address> place(Bytes size) override { return free_.take_lowest(size); }
  void give_back(const AddressRange& segment) override { free_.insert(segment, kAddressSpace); }
  void occupy(std::span<const AddressRange> segments) override;

  AddressRanges free_;
};

}  // namespace memtape
