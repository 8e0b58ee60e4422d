// SPDX-License-Identifier: Apache-2.0
// MoonViT, the image encoder of Kimi-VL and Kimi K2.5 (vllm 0.32 model_executor/models/{kimi_vl,
// moonvit,kimi_k25,kimi_k25_vit}.py): images in their own sizes, squares of patches merged.
#pragma once

#include <vector>

#include "framework/vllm/encoders.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

bool is_moonvit(const Config& vision);

/// Most patches of an image, as the published processors limit them: in_token_limit of Kimi-VL,
/// in_patch_limit of Kimi K2.5.
std::int64_t most_moonvit_patches(const Config& vision);

/// The largest image. A chunk of video of K2.5 becomes fewer tokens, from as many patches.
std::vector<Modality> moonvit_items(const Config& vision);

/// Makes the parameters of the tower and of the projection behind it.
void make_moonvit_tower(const Place& place);

/// embed_multimodal of the profile's batch.
std::vector<Tensor> run_moonvit_encoder(const Runtime& runtime, const Encoders& encoders);

}  // namespace memtape::vllm
