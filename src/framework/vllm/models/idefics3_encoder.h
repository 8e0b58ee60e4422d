// SPDX-License-Identifier: Apache-2.0
// The image encoder of Idefics 3 and SmolVLM: a SigLIP that sees tiles of an image and the whole
// (vllm 0.32 model_executor/models/{idefics3,smolvlm,idefics2_vision_model}.py). Their processors
// make the longest edge four tiles long.
#pragma once

#include <vector>

#include "framework/vllm/encoders.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

bool is_idefics3(const Config& vision);

/// The image of 4 x 4 tiles, and the whole once more.
std::vector<Modality> idefics3_items(const Config& model);

/// Makes the parameters of the tower and of the projection behind it.
void make_idefics3_tower(const Place& place);

/// embed_multimodal of the profile's batch.
std::vector<Tensor> run_idefics3_encoder(const Runtime& runtime, const Encoders& encoders);

}  // namespace memtape::vllm
