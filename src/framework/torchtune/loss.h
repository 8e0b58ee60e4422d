// SPDX-License-Identifier: Apache-2.0
// The losses of torchtune's recipes: CEWithChunkedOutputLoss (0.6.1,
// modules/loss/ce_chunked_output_loss.py), whose compute_cross_entropy alone is compiled
// (training/_compile.py, compile_loss), and torch.nn.CrossEntropyLoss.
#pragma once

#include <vector>

#include "framework/torchtune/levers.h"
#include "ghost/tensor.h"

namespace memtape::torchtune {

using ghost::Tensor;

/// The loss of what the model returned and labels [B, S], which are shifted already. The logits'
/// list is dropped on the way.
Tensor loss_of(std::vector<Tensor> logits, const Tensor& labels, const Levers& levers);

}  // namespace memtape::torchtune
