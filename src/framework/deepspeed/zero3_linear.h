// SPDX-License-Identifier: Apache-2.0
// The linear layers of ZeRO 3 (deepspeed/runtime/zero/linear.py, LinearFunctionForZeroStage3). They
// keep their input and the parameter itself, whose memory may be freed and gathered again
// meanwhile.
#pragma once

#include "nn/layers.h"

namespace memtape::deepspeed {

/// Replaces torch.nn.functional.linear as zero.Init does, for every nn.Linear below `root`.
void use_memory_efficient_linear(nn::ModuleNode& root);

}  // namespace memtape::deepspeed
