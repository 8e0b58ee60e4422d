// SPDX-License-Identifier: Apache-2.0
// InternVL's image encoder, in the files of OpenGVLab's own and of transformers' (InternVL 2.5 and 3:
// vllm 0.32 model_executor/models/{internvl,intern_vit,interns1,interns1_vit}.py). An image is cut
// into tiles of 448 pixels and seen once more whole; four patches become one token; a video has as
// many frames of 256 tokens as the model's length holds.
#pragma once

#include <vector>

#include "framework/vllm/encoders.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

bool is_internvl(const Config& vision);

/// The image of most tiles, and the longest video of a model whose text reads videos.
std::vector<Modality> internvl_items(const Config& model, const Config& kwargs,
                                     std::int64_t max_model_len);

/// Makes the parameters of the tower and of the projection behind it.
void make_internvl_tower(const Place& place);

/// embed_multimodal of the profile's batch.
std::vector<Tensor> run_internvl_encoder(const Runtime& runtime, const Encoders& encoders);

}  // namespace memtape::vllm
