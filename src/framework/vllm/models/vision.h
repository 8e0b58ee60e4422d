// SPDX-License-Identifier: Apache-2.0
// The weights of a multimodal model's image encoder and of what connects it to the text model
// (vllm/model_executor/models: siglip.py and gemma3_mm.py, clip.py and llava.py, qwen2_vl.py,
// qwen2_5_vl.py, qwen3_vl.py), divided over the tensor ranks as its linear layers are. What the
// encoder holds while it runs is not modelled.
#pragma once

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// Makes the parameters of the tower that the model's vision_config describes. It returns false if
/// there is a tower that is not known.
bool make_vision_tower(const Place& place);

}  // namespace memtape::vllm
