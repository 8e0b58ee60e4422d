// SPDX-License-Identifier: Apache-2.0
// The weights of a multimodal model's image encoder and of what connects it to the text model
// (vllm/model_executor/models: siglip.py and gemma3_mm.py, clip.py and llava.py, qwen2_vl.py,
// qwen2_5_vl.py, qwen3_vl.py), divided over the tensor ranks as its linear layers are. What the
// encoder holds while it runs is in encoder_run.h.
#pragma once

#include <span>

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// Of a side: the patches of a square image.
inline std::int64_t squared(std::int64_t side) { return side * side; }

/// Makes the parameters of the tower that the model's vision_config describes; of a tower that is
/// not known here, parameters of the sizes `otherwise`.
void make_vision_tower(const Place& place, std::span<const Dims> otherwise);

}  // namespace memtape::vllm
