// SPDX-License-Identifier: Apache-2.0
// The runtime's error of the calling thread: set by a call that fails, read and cleared by
// cudaGetLastError.
#pragma once

#include "cuda_runtime_types.h"

namespace memtape::phantom {

/// Remembers a failure; gives the code back.
int failed(RuntimeError error);

}  // namespace memtape::phantom
