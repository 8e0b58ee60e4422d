// SPDX-License-Identifier: Apache-2.0
// The parameters of MllamaVisionModel and of the projector behind it (transformers 5.17,
// models/mllama/modeling_mllama.py): two stacks of layers, the second one gated, and tables of
// positions for each arrangement of tiles. What it holds while it reads an image is not modelled.
#pragma once

#include "model/config.h"
#include "nn/module.h"

namespace memtape::family {

/// Makes them where MllamaModel does, in `model`.
void make_mllama_tower(const nn::Scope& model, const Config& config);

}  // namespace memtape::family
