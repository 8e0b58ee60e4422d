// SPDX-License-Identifier: Apache-2.0
// Only PyTorch for CUDA is modelled. PyTorch for ROCm has the same caching allocator (hipified from
// the same files), but its own context, its own workspaces of libraries and its own scratch memory
// of attention. Other devices have their own allocators.
#pragma once

#include <string_view>

#include "mesh/gpu_catalog.h"

namespace memtape {

inline bool runs_rocm(const Gpu& gpu) { return gpu.vendor == "AMD"; }

/// In words, what differs on a device under ROCm.
inline constexpr std::string_view kRocm =
    "ROCm: its allocator is PyTorch's own, its context is not counted and the workspaces of "
    "hipBLASLt and the scratch of attention are taken to be those of CUDA";

/// Refuses devices for which PyTorch is not modelled.
Result<void> check_torch_device(const Gpu& gpu, std::string_view who);

}  // namespace memtape
