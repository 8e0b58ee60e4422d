// SPDX-License-Identifier: Apache-2.0
// By how much more the free memory of a device shrinks during the profile run than the allocator
// takes: cuBLAS and the attention backend load kernels when they first run, and NCCL takes buffers.
// It is a property of the device. The start-up logs of the V0 engine and of the V1 engine's first
// runner print it to 0.01 GiB ("non_torch_memory"). The V2 runner's own snapshot counts it with the
// rest.
#pragma once

#include "framework/vllm/settings.h"

namespace memtape::vllm {

Bytes outside_growth(const Settings& settings);

}  // namespace memtape::vllm
