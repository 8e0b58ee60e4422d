// SPDX-License-Identifier: Apache-2.0
// AttentionOf: LlamaAttention of transformers 5.17 models/llama/modeling_llama.py, where a family
// treats q and k in its own way before they attend: the one part of it that differs from family to
// family. Steps is made with (scope, config, layer) once the projections are there, and called with
// q and k [B, H, S, D] and the cos and sin; finish(attn_output), if it has it, comes last.
#pragma once

#include <tuple>

#include "family/key_value_cache.h"
#include "family/llama.h"

namespace memtape::family {

template <class Steps>
class AttentionOf : public nn::Module<AttentionOf<Steps>> {
 public:
  template <class Settings>
  AttentionOf(const nn::Scope& scope, const Settings& c, std::int64_t layer)
      : nn::Module<AttentionOf>(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        steps_(scope, c, layer) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor key_states = k_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
    steps_(query_states, key_states, position_embeddings);
    KeyValueCache::update(key_states, value_states);
    Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask)
            .reshape(input_shape.with(-1))
            .contiguous();
    attn_output = o_proj_(attn_output);
    if constexpr (requires { steps_.finish(attn_output); }) steps_.finish(attn_output);
    return attn_output;
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  Steps steps_;
};

/// A rotation alone, another than Llama's.
template <std::pair<Tensor, Tensor> (*rotation)(const Tensor& q, const Tensor& k, const CosSin&)>
struct Rotated {
  Rotated(const nn::Scope&, const DecoderConfig&, std::int64_t) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
    std::tie(q, k) = rotation(q, k, cos_sin);
  }
};

/// RMS norms on each head of q and of k.
struct HeadNorms {
  HeadNorms(const nn::Scope& scope, const DecoderConfig& c, const char* query = "q_norm",
            const char* key = "k_norm")
      : q_norm(scope / query, c.head_dim), k_norm(scope / key, c.head_dim) {}
  void operator()(Tensor& q, Tensor& k) {
    q = q_norm(q);
    k = k_norm(k);
  }
  LlamaRMSNorm q_norm, k_norm;
};

}  // namespace memtape::family
