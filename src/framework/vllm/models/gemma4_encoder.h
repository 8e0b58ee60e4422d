// SPDX-License-Identifier: Apache-2.0
// Gemma 4's image encoder: transformers' own Gemma4VisionModel, which vLLM runs op by op and whole on
// each rank (vllm 0.32 model_executor/models/gemma4_mm.py; transformers 5.24
// models/gemma4/modeling_gemma4.py). A video is 32 frames that the tower sees as small images; as
// many of them run at once as _encoder_chunk allows.
#pragma once

#include <vector>

#include "framework/vllm/encoders.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// The largest image and the largest video, with --mm-processor-kwargs' max_soft_tokens.
std::vector<Modality> gemma4_items(const Config& vision, const Config& kwargs);

/// embed_multimodal of the profile's batch.
std::vector<Tensor> run_gemma4_encoder(const Runtime& runtime, const Encoders& encoders);

}  // namespace memtape::vllm
