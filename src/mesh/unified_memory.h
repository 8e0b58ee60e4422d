// SPDX-License-Identifier: Apache-2.0
// How much of a machine's unified memory Metal lets a program hold.
#pragma once

#include "mesh/gpu_catalog.h"

namespace memtape {

/// recommendedMaxWorkingSetSize as llama.cpp's logs print it: 2/3 of 16 GiB and of 32 GiB (10922.67
/// and 21845.34 MiB: llama-cpp-python issue 687, ollama issue 434), and 3/4 of 64 GiB (49152.00
/// MiB: llama.cpp issue 1870). The user can change it by iogpu.wired_limit_mb.
constexpr Bytes working_set(Bytes unified) {
  return unified <= 32_GiB ? unified / 3 * 2 : unified / 4 * 3;
}

}  // namespace memtape
