// SPDX-License-Identifier: Apache-2.0
// Ministral 3: Mistral, but the rotated queries are scaled by a number for each position; mirroring
// transformers 5.17 models/ministral3/modular_ministral3.py. The language model of Mistral 3 may be
// this one.
#pragma once

#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

struct Ministral3Config : DecoderConfig {
  Ministral3Config(const Config& c, const ModelOptions& options);
};

/// q times get_llama_4_attn_scale of its positions.
Tensor scaled_as_llama_4(const Tensor& q);

struct ScaledQueries : Rotated<apply_rotary_pos_emb> {
  using Rotated::Rotated;
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const;
};

struct Ministral3Parts : DecoderParts {
  using Settings = Ministral3Config;
  using DecoderLayer = PreNormDecoderLayer<AttentionOf<ScaledQueries>>;
  using Norm = LlamaRMSNorm;
};

}  // namespace memtape::family
