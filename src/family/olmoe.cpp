// SPDX-License-Identifier: Apache-2.0
// OLMoE: Llama with RMS norms over all of q and k, and experts; mirroring transformers 5.17
// models/olmoe/modular_olmoe.py.
#include <tuple>

#include "family/families.h"
#include "family/key_value_cache.h"
#include "family/llama.h"
#include "family/moe_decoder.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

struct OlmoeConfig : MoeConfig {
  OlmoeConfig(const Config& c, const ModelOptions& options)
      : MoeConfig(c, options,
                  {.vocab_size = 50304,
                   .hidden_size = 2048,
                   .intermediate_size = 2048,
                   .num_hidden_layers = 16,
                   .num_attention_heads = 16},
                  {.num_experts = 64,
                   .num_experts_per_tok = 8,
                   .intermediate_key = "intermediate_size",
                   .intermediate_size = 2048}),
        clips_qkv(c.optional_number("clip_qkv").has_value()) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
  }
  bool clips_qkv;
};

class OlmoeAttention : public nn::Module<OlmoeAttention> {
 public:
  OlmoeAttention(const nn::Scope& scope, const OlmoeConfig& c)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        clips_(c.clips_qkv),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        q_norm_(scope / "q_norm", c.hidden_size),
        k_norm_(scope / "k_norm", c.hidden_size / c.num_attention_heads * c.num_key_value_heads) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_norm_(q_proj_(hidden_states));
    Tensor key_states = k_norm_(k_proj_(hidden_states));
    Tensor value_states = v_proj_(hidden_states);
    if (clips_)
      for (Tensor* states : {&query_states, &key_states, &value_states})
        ghost::clamp_in_place(*states);
    query_states = query_states.view(hidden_shape).transpose(1, 2);
    key_states = key_states.view(hidden_shape).transpose(1, 2);
    value_states = value_states.view(hidden_shape).transpose(1, 2);
    std::tie(query_states, key_states) =
        apply_rotary_pos_emb(query_states, key_states, position_embeddings);
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
  bool clips_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  LlamaRMSNorm q_norm_, k_norm_;
};

class OlmoeSparseMoeBlock : public nn::Module<OlmoeSparseMoeBlock> {
 public:
  OlmoeSparseMoeBlock(const nn::Scope& scope, const MoeConfig& c)
      : Module(scope),
        gate_(scope / "gate", c, TopKRouter::Style::qwen2),
        experts_(scope / "experts", c) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states);
    return experts_(hidden_states, routing.indices, routing.weights).reshape(x.sizes());
  }

 private:
  TopKRouter gate_;
  Experts experts_;
};

struct OlmoeParts : MoeParts {
  using Settings = OlmoeConfig;
  using DecoderLayer = PreNormDecoderLayer<OlmoeAttention, OlmoeSparseMoeBlock>;
  using Norm = LlamaRMSNorm;
};

}  // namespace

ModelPointer build_olmoe(const Config& c, const ModelOptions& options) {
  return build_checked<MoeForCausalLM<OlmoeParts>>(c, OlmoeConfig(c, options), options);
}

}  // namespace memtape::family
