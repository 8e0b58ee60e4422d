// SPDX-License-Identifier: Apache-2.0
// Host memory that CUDA manages: pinned (page-locked) and managed. It is real memory. The run
// counts it separately from the devices.
#pragma once

#include <cstddef>

#include "core/export.h"

namespace memtape::phantom {

enum class HostMemory { none, pinned, managed };

/// It returns null if the host does not have so much memory.
PHANTOM_CORE void* take_host_memory(std::size_t bytes, HostMemory kind);
PHANTOM_CORE bool give_host_memory(void* address);

/// For memory that is the program's own and that it pins in place.
PHANTOM_CORE void register_host_memory(void* address, std::size_t bytes);
PHANTOM_CORE bool unregister_host_memory(void* address);

PHANTOM_CORE HostMemory host_memory_at(const void* address);

}  // namespace memtape::phantom
