// SPDX-License-Identifier: Apache-2.0
// Qwen3: Llama with RMS norms on the heads of q and k, mirroring transformers 5.17
// models/qwen3/modular_qwen3.py.
#include "family/qwen3.h"
#include "family/key_value_cache.h"

#include <tuple>

#include "family/decoder.h"
#include "family/families.h"
#include "family/key_value_cache.h"

namespace memtape::family {

Qwen3Attention::Qwen3Attention(const nn::Scope& scope, const DecoderConfig& c, const Names& names)
    : Module(scope),
      call_(attention_call(c)),
      head_dim_(c.head_dim),
      q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
      k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
      v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
      o_proj_(scope / names.o_proj, c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
      q_norm_(scope / names.q_norm, c.head_dim),
      k_norm_(scope / names.k_norm, c.head_dim) {}

Tensor Qwen3Attention::forward(const Tensor& hidden_states, const Tensor& attention_mask,
                               const CosSin& position_embeddings) {
  const Dims input_shape = hidden_states.sizes().leading();
  const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
  Tensor query_states = q_norm_(q_proj_(hidden_states).view(hidden_shape)).transpose(1, 2);
  Tensor key_states = k_norm_(k_proj_(hidden_states).view(hidden_shape)).transpose(1, 2);
  Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
  std::tie(query_states, key_states) =
      apply_rotary_pos_emb(query_states, key_states, position_embeddings);
  KeyValueCache::update(key_states, value_states);
  const Tensor attn_output =
      attention_interface(call_, query_states, key_states, value_states, attention_mask)
          .reshape(input_shape.with(-1))
          .contiguous();
  return o_proj_(attn_output);
}

namespace {

struct Qwen3Parts : DecoderParts {
  using DecoderLayer = PreNormDecoderLayer<Qwen3Attention>;
  using Norm = LlamaRMSNorm;
};

}  // namespace

ModelPointer build_qwen3(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 151936,
                        .intermediate_size = 22016,
                        .num_key_value_heads = 32,
                        .head_dim = 128});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  read_max_window_layers(c, config);
  return build_checked<DecoderForCausalLM<Qwen3Parts>>(c, config, options);
}

}  // namespace memtape::family
