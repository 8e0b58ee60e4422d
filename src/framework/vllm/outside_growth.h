// SPDX-License-Identifier: Apache-2.0
// What a device has less of after the profile run than the allocator took: kernels that cuBLAS and
// the attention backend load when they run first, and the buffers of NCCL. A property of the
// device, as start-up logs of the V0 engine and of the V1 engine's first runner print it, to 0.01
// GiB
// ("non_torch_memory"). The V2 runner's own snapshot counts it with the rest.
#pragma once

#include "framework/vllm/settings.h"

namespace memtape::vllm {

Bytes outside_growth(const Settings& settings);

}  // namespace memtape::vllm
