// SPDX-License-Identifier: Apache-2.0
// WholeNormAttention: Llama's attention with a norm over all heads of q at once, and of k, before
// they are taken apart: Olmo2Attention of transformers 5.17 models/olmo2/modular_olmo2.py, which
// others repeat with norms and rotations of their own.
#pragma once

#include <tuple>
#include <utility>

#include "family/key_value_cache.h"
#include "family/llama.h"

namespace memtape::family {

/// Gives q and k rotated, in turn.
using Rotation = std::pair<Tensor, Tensor> (*)(const Tensor& q, const Tensor& k,
                                               const CosSin& cos_sin);

template <class Norm, Rotation rotate>
class WholeNormAttention : public nn::Module<WholeNormAttention<Norm, rotate>> {
 public:
  WholeNormAttention(const nn::Scope& scope, const DecoderConfig& c)
      : nn::Module<WholeNormAttention>(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        q_norm_(scope / "q_norm", c.num_attention_heads * c.head_dim),
        k_norm_(scope / "k_norm", c.num_key_value_heads * c.head_dim) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_norm_(q_proj_(hidden_states));
    Tensor key_states = k_norm_(k_proj_(hidden_states));
    Tensor value_states = v_proj_(hidden_states);
    query_states = query_states.view(hidden_shape).transpose(1, 2);
    key_states = key_states.view(hidden_shape).transpose(1, 2);
    value_states = value_states.view(hidden_shape).transpose(1, 2);
    std::tie(query_states, key_states) = rotate(query_states, key_states, position_embeddings);
    KeyValueCache::update(key_states, value_states);
    const Tensor attn_output =
        attention_interface(call_, query_states, key_states, value_states, attention_mask)
            .reshape(input_shape.with(-1))
            .contiguous();
    return o_proj_(attn_output);
  }

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  Norm q_norm_, k_norm_;
};

}  // namespace memtape::family
