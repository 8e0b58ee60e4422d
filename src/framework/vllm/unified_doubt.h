// SPDX-License-Identifier: Apache-2.0
// GPUs whose memory is the machine's own (DGX Spark, Jetson): the system, other programs and the
// server's own processes on the host live in it, and what they hold is not known here. Recent vLLM
// asks the machine what is free (MemorySnapshot.measure of vllm/utils/mem_utils.py,
// is_integrated_gpu), and does not start where the share is more.
#pragma once

#include <string>

#include "framework/vllm/settings.h"

namespace memtape::vllm {

/// Why a server that holds `peak` may not start beside the rest of the machine; "" where the GPU's
/// memory is its own, or an eighth of the machine's is left.
std::string unified_doubt(const DeviceFacts& device, Bytes peak);

}  // namespace memtape::vllm
