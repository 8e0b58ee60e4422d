// SPDX-License-Identifier: Apache-2.0
// OLMo 2's attention: RMS norms over all of q and k, rotation in float32 (transformers 5.17
// models/olmo2/modular_olmo2.py).
#pragma once

#include "family/parts/attention_of.h"
#include "family/parts/rms_norms.h"

namespace memtape::family {

using Olmo2Attention = AttentionOf<WholeNorms<Olmo2RMSNorm, apply_rotary_pos_emb_in_float>>;

}  // namespace memtape::family
