// SPDX-License-Identifier: Apache-2.0
// Driver: the device's memory as cudaMalloc and the virtual-memory calls give it out, beneath the
// caching allocator. It has a limit, and it chooses addresses, which matters: best fit breaks ties
// by address, so where segments lie decides which one is reused. Physical memory is counted in
// pages of 2 MiB.
//
// Placement rules, found by replaying recorded programs (docs/allocator.md):
//   linux      Regions of whole 32 MiB open in the highest gap of the address space. A request
//              takes the low end of the lowest hole in an open region that holds it. A region
//              whose last segment is freed is given back.
//   first-fit  The lowest hole that is large enough, upwards in steps of 2 MiB.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "allocator/block.h"
#include "base/result.h"

namespace memtape {

inline constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();
inline constexpr Bytes kDriverPage = 2 << 20;

/// The memory of the device, and how much of it others take: the CUDA context, libraries, other
/// processes.
struct DeviceMemory {
  Bytes total = kUnlimited;  ///< as cudaMemGetInfo reports it
  Bytes outside = 0;
};

struct AddressRange {
  Address address = 0;
  Bytes size = 0;
  Address end() const { return address + size; }
  bool operator==(const AddressRange&) const = default;
};

class Driver {
 public:
  explicit Driver(const DeviceMemory& memory = {}) : memory_(memory) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  /// cudaMalloc: an address; empty if the device is full.
  std::optional<Address> allocate(Bytes size);
  /// cudaFree of an address that `allocate` returned.
  void release(const AddressRange& segment);

  /// cuMemAddressReserve: addresses only.
  virtual std::optional<Address> reserve(Bytes size) = 0;
  virtual void unreserve(const AddressRange& range) = 0;
  /// cuMemCreate and cuMemMap of all of `range`, or false when the device is full; `unmap` undoes
  /// it.
  bool map(const AddressRange& range);
  void unmap(const AddressRange& range);

  /// Segments that existed before the first request, ascending and apart.
  void adopt(std::span<const AddressRange> segments);

  const DeviceMemory& memory() const { return memory_; }
  void set_memory(const DeviceMemory& memory) { memory_ = memory; }
  Bytes used() const { return used_; }

 private:
  virtual std::optional<Address> place(Bytes size) = 0;
  virtual void give_back(const AddressRange& segment) = 0;
  virtual bool may_map(const AddressRange&) { return true; }
  virtual void unmapped(const AddressRange&) {}
  virtual void occupy(std::span<const AddressRange> segments) = 0;

  bool has_room_for(Bytes size) const;

  DeviceMemory memory_;
  Bytes used_ = 0;
};

enum class DriverPlacement : std::uint8_t { linux_regions, first_fit };

/// "linux" or "first-fit".
Result<DriverPlacement> driver_placement_from_name(std::string_view name);
std::string_view name(DriverPlacement placement);

std::unique_ptr<Driver> make_driver(DriverPlacement placement, const DeviceMemory& memory = {});

}  // namespace memtape
