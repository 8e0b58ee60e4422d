// SPDX-License-Identifier: Apache-2.0
// The image encoders of Qwen2-VL and Qwen2.5-VL as vLLM had them up to 0.10.2 (0.8.5,
// model_executor/models/{qwen2_vl,qwen2_5_vl}.py): tensor ranks gather queries, keys and values,
// copy their own heads and rotate queries and keys in float32, one after the other.
#pragma once

#include <vector>

#include "framework/vllm/encoders.h"
#include "framework/vllm/runtime.h"

namespace memtape::vllm {

bool is_older_qwen_encoder(const Config& model, const Settings& settings);

/// The profile's batch, with the pixels that the runner holds until the profile ends, and under the
/// V0 engine the embeddings of the whole prompt, which are made before an image is encoded.
std::vector<Tensor> run_older_qwen_encoder(const Runtime& runtime, const Encoders& encoders);

}  // namespace memtape::vllm
