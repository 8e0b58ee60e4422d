// SPDX-License-Identifier: Apache-2.0
// Qwen3's attention: Llama's with RMS norms on the heads of q and k (transformers 5.17
// models/qwen3/modular_qwen3.py).
#pragma once

#include "family/parts/decoder.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

struct Qwen3Steps : Rotated<apply_rotary_pos_emb> {
  Qwen3Steps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer,
             const NormNames& names = {})
      : Rotated(scope, c, layer), norms(scope, c, names) {}
  Tensor query_heads(const Tensor& q) { return norms.q_norm(q); }
  Tensor key_heads(const Tensor& k) { return norms.k_norm(k); }
  HeadNorms<LlamaRMSNorm> norms;
};

using Qwen3Attention = AttentionOf<Qwen3Steps>;

DecoderConfig qwen3_config(const Config& c, const ModelOptions& options);

struct Qwen3Parts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<Qwen3Attention>;
  using Norm = LlamaRMSNorm;
};

}  // namespace memtape::family
