// SPDX-License-Identifier: Apache-2.0
// The driver's memory: plain allocations, and virtual memory management, which expandable segments
// are made of: addresses are reserved, physical memory is created, and both are joined by mapping.
// What counts against the device is what was created.
#include <map>
#include <mutex>

#include "core/address_space.h"
#include "core/devices.h"
#include "core/export.h"
#include "core/host_memory.h"
#include "core/transfers.h"
#include "libcuda/driver_types.h"

using namespace memtape::phantom;

namespace {

/// Physical memory lives while a handle or a mapping refers to it.
struct Physical {
  int device;
  std::size_t bytes;
  int references;
};
std::mutex& guard = *new std::mutex;

struct Mapping {
  Physical* memory;
};
auto& mappings = *new std::map<DeviceAddress, Mapping>;

Physical* physical(unsigned long long handle) { return reinterpret_cast<Physical*>(handle); }

void release(Physical* memory) {
  if (--memory->references > 0) return;
  give_physical(memory->device, memory->bytes);
  delete memory;
}

void* at(DeviceAddress address) { return reinterpret_cast<void*>(address); }

}  // namespace

PHANTOM_ENTRY int cuMemAlloc_v2(DeviceAddress* address, std::size_t bytes) {
  void* taken = bytes ? take_memory(current_device(), bytes) : nullptr;
  *address = reinterpret_cast<DeviceAddress>(taken);
  return bytes == 0 ? driver_invalid_value
                    : in_driver_terms(taken != nullptr, driver_out_of_memory);
}
PHANTOM_ENTRY int cuMemFree_v2(DeviceAddress address) {
  return in_driver_terms(address == 0 || give_memory(at(address)) || give_host_memory(at(address)),
                         driver_invalid_value);
}
PHANTOM_ENTRY int cuMemAllocManaged(DeviceAddress* address, std::size_t bytes, unsigned) {
  void* taken = take_host_memory(bytes, HostMemory::managed);
  *address = reinterpret_cast<DeviceAddress>(taken);
  return in_driver_terms(taken != nullptr, driver_out_of_memory);
}
PHANTOM_ENTRY int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  *address = take_host_memory(bytes, HostMemory::pinned);
  return in_driver_terms(*address != nullptr, driver_out_of_memory);
}
PHANTOM_ENTRY int cuMemAllocHost_v2(void** address, std::size_t bytes) {
  return cuMemHostAlloc(address, bytes, 0);
}
PHANTOM_ENTRY int cuMemFreeHost(void* address) {
  return in_driver_terms(give_host_memory(address), driver_invalid_value);
}
PHANTOM_ENTRY int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const MemoryInfo info = memory_info(current_device());
  *free = info.free;
  *total = info.total;
  return driver_success;
}
PHANTOM_ENTRY int cuMemGetAddressRange_v2(DeviceAddress* start, std::size_t* bytes,
                                          DeviceAddress address) {
  const Allocation found = allocation_of(at(address));
  if (start) *start = reinterpret_cast<DeviceAddress>(found.start);
  if (bytes) *bytes = found.bytes;
  return in_driver_terms(found.start != nullptr, driver_not_found);
}

PHANTOM_ENTRY int cuMemGetAllocationGranularity(std::size_t* unit, const AllocationProperties*,
                                                int) {
  *unit = kPage;
  return driver_success;
}
PHANTOM_ENTRY int cuMemAddressReserve(DeviceAddress* address, std::size_t bytes, std::size_t,
                                      DeviceAddress, unsigned long long) {
  void* reserved = reserve_addresses(current_device(), bytes);
  *address = reinterpret_cast<DeviceAddress>(reserved);
  return in_driver_terms(reserved != nullptr, driver_out_of_memory);
}
PHANTOM_ENTRY int cuMemAddressFree(DeviceAddress address, std::size_t) {
  free_addresses(at(address));
  return driver_success;
}
PHANTOM_ENTRY int cuMemCreate(unsigned long long* handle, std::size_t bytes,
                              const AllocationProperties* properties, unsigned long long) {
  const int device = properties ? properties->location.id : current_device();
  if (!is_device(device)) return driver_invalid_device;
  if (!take_physical(device, bytes)) return driver_out_of_memory;
  *handle = reinterpret_cast<unsigned long long>(new Physical{device, bytes, 1});
  return driver_success;
}
PHANTOM_ENTRY int cuMemRelease(unsigned long long handle) {
  const std::lock_guard<std::mutex> lock(guard);
  release(physical(handle));
  return driver_success;
}
PHANTOM_ENTRY int cuMemMap(DeviceAddress address, std::size_t, std::size_t,
                           unsigned long long handle, unsigned long long) {
  const std::lock_guard<std::mutex> lock(guard);
  ++physical(handle)->references;
  mappings[address] = {physical(handle)};
  return driver_success;
}
PHANTOM_ENTRY int cuMemUnmap(DeviceAddress address, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(guard);
  auto found = mappings.lower_bound(address);
  while (found != mappings.end() && found->first < address + bytes) {
    release(found->second.memory);
    found = mappings.erase(found);
  }
  return driver_success;
}
PHANTOM_ENTRY int cuMemRetainAllocationHandle(unsigned long long* handle, void* address) {
  const std::lock_guard<std::mutex> lock(guard);
  const auto found = mappings.find(reinterpret_cast<DeviceAddress>(address));
  if (found == mappings.end()) return driver_invalid_value;
  ++found->second.memory->references;
  *handle = reinterpret_cast<unsigned long long>(found->second.memory);
  return driver_success;
}

PHANTOM_ENTRY int cuPointerGetAttribute(void* value, int attribute, DeviceAddress address) {
  constexpr int kMemoryType = 2, kDevicePointer = 3, kHostPointer = 4, kOrdinal = 9, kContext = 1;
  const auto device = device_of(at(address));
  switch (attribute) {
    case kContext: *static_cast<void**>(value) = nullptr; break;
    case kMemoryType: *static_cast<unsigned*>(value) = device ? 2 : 1; break;
    case kDevicePointer:
    case kHostPointer: *static_cast<DeviceAddress*>(value) = address; break;
    case kOrdinal: *static_cast<int*>(value) = device.value_or(0); break;
    default: *static_cast<int*>(value) = 0; break;
  }
  return in_driver_terms(device || host_memory_at(at(address)) != HostMemory::none,
                         driver_invalid_value);
}

PHANTOM_ENTRY int cuMemcpyHtoD_v2(DeviceAddress to, const void* from, std::size_t bytes) {
  copy(at(to), from, bytes);
  return driver_success;
}
PHANTOM_ENTRY int cuMemcpyDtoH_v2(void* to, DeviceAddress from, std::size_t bytes) {
  copy(to, at(from), bytes);
  return driver_success;
}
PHANTOM_ENTRY int cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, std::size_t bytes,
                                       void*) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
PHANTOM_ENTRY int cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, std::size_t bytes, void*) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}
PHANTOM_ENTRY int cuMemcpyDtoD_v2(DeviceAddress to, DeviceAddress from, std::size_t bytes) {
  copy(at(to), at(from), bytes);
  return driver_success;
}
PHANTOM_ENTRY int cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                                       void*) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}
PHANTOM_ENTRY int cuMemcpy(DeviceAddress to, DeviceAddress from, std::size_t bytes) {
  copy(at(to), at(from), bytes);
  return driver_success;
}
PHANTOM_ENTRY int cuMemcpyAsync(DeviceAddress to, DeviceAddress from, std::size_t bytes, void*) {
  return cuMemcpy(to, from, bytes);
}
PHANTOM_ENTRY int cuMemsetD8_v2(DeviceAddress address, unsigned char value, std::size_t bytes) {
  fill(at(address), value, bytes);
  return driver_success;
}
PHANTOM_ENTRY int cuMemsetD8Async(DeviceAddress address, unsigned char value, std::size_t bytes,
                                  void*) {
  return cuMemsetD8_v2(address, value, bytes);
}
