// SPDX-License-Identifier: Apache-2.0
// Qwen3's attention: Llama's with RMS norms on the heads of q and k (transformers 5.17
// models/qwen3/modular_qwen3.py).
#pragma once

#include "family/llama.h"

namespace memtape::family {

class Qwen3Attention : public nn::Module<Qwen3Attention> {
 public:
  /// What the parts after q, k and v are called.
  struct Names {
    const char *o_proj = "o_proj", *q_norm = "q_norm", *k_norm = "k_norm";
  };
  Qwen3Attention(const nn::Scope& scope, const DecoderConfig& c)
      : Qwen3Attention(scope, c, Names()) {}
  Qwen3Attention(const nn::Scope& scope, const DecoderConfig& c, const Names& names);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings);

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  LlamaRMSNorm q_norm_, k_norm_;
};

}  // namespace memtape::family
