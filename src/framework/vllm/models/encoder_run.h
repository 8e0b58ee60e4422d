// SPDX-License-Identifier: Apache-2.0
// What an image encoder holds while it runs in the profile run, op by op: the towers of Qwen2-VL,
// Qwen2.5-VL, Qwen3-VL and Qwen3.5, SigLIP behind Gemma 3, CLIP behind LLaVA and Pixtral behind
// Mistral 3 (vllm 0.32, model_executor/models/{qwen2_vl,qwen2_5_vl,qwen3_vl,siglip,clip,pixtral,
// gemma3_mm,llava,mistral3}.py). All layers of a tower hold the same, so one stands for all.
#pragma once

#include <vector>

#include "framework/vllm/encoders.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// embed_multimodal of the profile's batch: the outputs, which the encoder cache holds until the
/// profile run ends. None where the tower's run is not transcribed.
std::vector<Tensor> run_encoders(const Runtime& runtime, const Encoders& encoders);

/// The most that one of the largest items takes while it is encoded, beside the model.
Bytes bytes_of_largest_item(const Config& config, const Settings& settings,
                            const Encoders& encoders);

}  // namespace memtape::vllm
