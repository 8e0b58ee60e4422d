// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers in models of text and images, as far as it affects
// memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kQwenVlKeepsRopeDeltas{
    Package::transformers,
    {4, 47, 0},
    "Qwen2-VL's and Qwen2.5-VL's forward keeps how far each row's positions are ahead until the "
    "next one. It does not in 4.45.2 and does in 4.47.1.",
    "models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLModel.get_rope_index"};

inline constexpr Change kTextHasNoRopeDeltas{
    Package::transformers,
    {5, 2, 0},
    "Qwen2-VL and Qwen2.5-VL ask for positions of images, and keep the rows' offsets, only where "
    "there are images.",
    "models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLModel.compute_3d_position_ids"};

}  // namespace memtape::changes
