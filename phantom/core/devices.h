// SPDX-License-Identifier: Apache-2.0
// Devices: the phantom GPUs as this process numbers them, and their memory. Device memory is
// address space and a count of bytes; nothing can be read or written there (core/transfers.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/export.h"

namespace memtape::phantom {

struct MemoryInfo {
  std::size_t free = 0, total = 0;
};

/// The calling thread's device.
PHANTOM_CORE int current_device();
PHANTOM_CORE void set_current_device(int device);
PHANTOM_CORE bool is_device(int device);

/// Takes memory of the device in whole pages. It returns null if too little is left.
PHANTOM_CORE void* take_memory(int device, std::size_t bytes);
/// It returns false if no memory was taken at the address.
PHANTOM_CORE bool give_memory(void* address);
PHANTOM_CORE MemoryInfo memory_info(int device);

/// The device whose address space holds `address`.
PHANTOM_CORE std::optional<int> device_of(const void* address);

struct Allocation {
  void* start = nullptr;
  std::size_t bytes = 0;
};
/// The memory that holds `address`. It is empty if there is none.
PHANTOM_CORE Allocation allocation_of(const void* address);

/// These take addresses of the device without memory behind them, and memory without addresses
/// (virtual memory management).
PHANTOM_CORE void* reserve_addresses(int device, std::size_t bytes);
PHANTOM_CORE void free_addresses(void* address);
PHANTOM_CORE bool take_physical(int device, std::size_t bytes);
PHANTOM_CORE void give_physical(int device, std::size_t bytes);

}  // namespace memtape::phantom
