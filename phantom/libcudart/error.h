// SPDX-License-Identifier: Apache-2.0
// The runtime's error of the calling thread. A call that fails sets it, and cudaGetLastError reads
// and clears it.
#pragma once

#include "cuda_runtime_types.h"

namespace memtape::phantom {

/// Remembers a failure and returns its code.
int failed(RuntimeError error);

}  // namespace memtape::phantom
