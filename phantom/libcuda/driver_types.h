// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's types, as far as the stand-in uses them (CUDA driver reference manual).
#pragma once

#include <cstddef>

namespace memtape::phantom {

/// CUresult
enum DriverResult : int {
  driver_success = 0,
  driver_invalid_value = 1,
  driver_out_of_memory = 2,
  driver_invalid_device = 101,
  driver_not_found = 500,
  driver_not_supported = 801,
};

using DeviceAddress = unsigned long long;

struct MemoryLocation {
  int type, id;
};

/// CUmemAllocationProp, of which only the location matters here.
struct AllocationProperties {
  int type, requested_handle_types;
  MemoryLocation location;
};

inline int in_driver_terms(bool done, DriverResult otherwise) {
  return done ? driver_success : otherwise;
}

}  // namespace memtape::phantom
