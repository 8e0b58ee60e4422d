// SPDX-License-Identifier: Apache-2.0
// Llama 4's image encoder: the image is cut into tiles, each of which the tower sees beside a place
// for its class; four patches become one token (vllm 0.32 model_executor/models/mllama4.py).
#pragma once

#include <vector>

#include "framework/vllm/encoders.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// The image of most tiles: max_patches of the published processor, and the whole image once more.
std::vector<Modality> llama4_items(const Config& vision, const Config& kwargs);

/// embed_multimodal of the profile's batch.
std::vector<Tensor> run_llama4_encoder(const Runtime& runtime, const Encoders& encoders);

}  // namespace memtape::vllm
