// SPDX-License-Identifier: Apache-2.0
// Which devices' PyTorch is modelled: CUDA's. ROCm's has the same caching allocator (hipified from
// the same files), while its context, its libraries' workspaces and the scratch of attention are
// its own; other devices have allocators of their own.
#pragma once

#include <string_view>

#include "mesh/gpu_catalog.h"

namespace memtape {

inline bool runs_rocm(const Gpu& gpu) { return gpu.vendor == "AMD"; }

/// What is another device's under ROCm, in words.
inline constexpr std::string_view kRocm =
    "ROCm: its allocator is PyTorch's own, its context is not counted and the workspaces of "
    "hipBLASLt and the scratch of attention are taken to be those of CUDA";

/// Refuses devices for which PyTorch is not modelled.
Result<void> check_torch_device(const Gpu& gpu, std::string_view who);

}  // namespace memtape
