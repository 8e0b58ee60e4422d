// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bytes.h"
#include "ghost/device_traits.h"

namespace memtape::ghost {

/// What a cuBLAS handle takes for each stream if CUBLAS_WORKSPACE_CONFIG says nothing: 4096 KiB x 2
/// + 16 KiB x 8, on Hopper 32 MiB (parseChosenWorkspaceSize of CublasHandlePool.cpp).
Bytes cublas_workspace_bytes(const DeviceTraits& device);

/// Allocates the workspaces that cublasLt needs for a product to which it adds the bias. Only the
/// first call allocates.
void use_cublaslt();

}  // namespace memtape::ghost
