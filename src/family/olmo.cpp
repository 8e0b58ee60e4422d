// SPDX-License-Identifier: Apache-2.0
// OLMo: Llama with layer norms that have no parameters, rotation in float32, and q, k and v that
// may be clipped; mirroring transformers 5.17 models/olmo/modular_olmo.py.
#include <tuple>

#include "family/decoder.h"
#include "family/families.h"
#include "family/key_value_cache.h"
#include "family/llama.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct OlmoConfig : DecoderConfig {
  OlmoConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options, {.vocab_size = 50304}), clip_qkv(c.optional_number("clip_qkv")) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    rope.keeps_float32 = true;
  }
  std::optional<double> clip_qkv;
};

class OlmoLayerNorm : public nn::Module<OlmoLayerNorm> {
 public:
  OlmoLayerNorm(const nn::Scope& scope, std::int64_t) : Module(scope) {}
  Tensor forward(const Tensor& x) {
    const DType orig_dtype = x.dtype();
    return ghost::layer_norm(x.to_float(), {}, {}).to(orig_dtype);
  }
};

class OlmoAttention : public nn::Module<OlmoAttention> {
 public:
  OlmoAttention(const nn::Scope& scope, const OlmoConfig& c)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        clip_qkv_(c.clip_qkv),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states);
    Tensor key_states = k_proj_(hidden_states);
    Tensor value_states = v_proj_(hidden_states);
    if (clip_qkv_) {
      ghost::clamp_in_place(query_states);
      ghost::clamp_in_place(key_states);
      ghost::clamp_in_place(value_states);
    }
    query_states = query_states.view(hidden_shape).transpose(1, 2);
    key_states = key_states.view(hidden_shape).transpose(1, 2);
    value_states = value_states.view(hidden_shape).transpose(1, 2);
    std::tie(query_states, key_states) =
        apply_rotary_pos_emb_in_float(query_states, key_states, position_embeddings);
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
  std::optional<double> clip_qkv_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
};

struct OlmoParts : DecoderParts {
  using Settings = OlmoConfig;
  using DecoderLayer = PreNormDecoderLayer<OlmoAttention, LlamaMLP, OlmoLayerNorm>;
  using Norm = OlmoLayerNorm;
};

}  // namespace

ModelPointer build_olmo(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<OlmoParts>>(c, OlmoConfig(c, options), options);
}

}  // namespace memtape::family
