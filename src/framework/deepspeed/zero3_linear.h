// SPDX-License-Identifier: Apache-2.0
// Linear layers of ZeRO 3 (deepspeed/runtime/zero/linear.py, LinearFunctionForZeroStage3): keep
// their input and the parameter itself, whose memory may come and go meanwhile.
#pragma once

#include "nn/layers.h"

namespace memtape::deepspeed {

/// torch.nn.functional.linear as zero.Init leaves it, for every nn.Linear below `root`.
void use_memory_efficient_linear(nn::ModuleNode& root);

}  // namespace memtape::deepspeed
