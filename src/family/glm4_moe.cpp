// SPDX-License-Identifier: Apache-2.0
// GLM 4.5: DeepSeek-V3's experts under attention that rotates a part of each head; mirroring
// transformers 5.17 models/glm4_moe/modular_glm4_moe.py.
#include <optional>
#include <tuple>

#include "family/decoder.h"
#include "family/deepseek_moe.h"
#include "family/families.h"
#include "family/key_value_cache.h"

namespace memtape::family {
namespace {

struct Glm4MoeConfig : DeepseekMoeConfig {
  Glm4MoeConfig(const Config& c, const ModelOptions& options)
      : DeepseekMoeConfig(c, options,
                          {.vocab_size = 151552,
                           .intermediate_size = 10944,
                           .num_hidden_layers = 46,
                           .num_attention_heads = 96,
                           .num_key_value_heads = 8},
                          {.experts_key = {"n_routed_experts", "num_local_experts"},
                           .num_experts = 128,
                           .intermediate_size = 1408}),
        use_qk_norm(c.boolean("use_qk_norm", false)) {
    rope = rope_parameters(c, head_dim, "partial_rotary_factor", 0.5);
    qkv_bias = c.boolean("attention_bias", false);
    first_k_dense_replace = c.count("first_k_dense_replace", 1);
    norm_topk_prob = c.boolean("norm_topk_prob", true);
    n_shared_experts = c.dimension("n_shared_experts", 1);
    float32_correction_bias = true;
    read_groups_of_two_best(c, 1, 1);
  }
  bool use_qk_norm;
};

class Glm4MoeAttention : public nn::Module<Glm4MoeAttention> {
 public:
  Glm4MoeAttention(const nn::Scope& scope, const Glm4MoeConfig& c)
      : Module(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, false) {
    if (!c.use_qk_norm) return;
    q_norm_.emplace(scope / "q_norm", c.head_dim);
    k_norm_.emplace(scope / "k_norm", c.head_dim);
  }

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
    Tensor query_states = q_proj_(hidden_states).view(hidden_shape);
    Tensor key_states = k_proj_(hidden_states).view(hidden_shape);
    Tensor value_states = v_proj_(hidden_states).view(hidden_shape);
    if (q_norm_) {
      query_states = (*q_norm_)(query_states);
      key_states = (*k_norm_)(key_states);
    }
    query_states = query_states.transpose(1, 2);
    key_states = key_states.transpose(1, 2);
    value_states = value_states.transpose(1, 2);
    std::tie(query_states, key_states) =
        apply_rotary_pos_emb_to_part(query_states, key_states, position_embeddings);
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
  std::optional<LlamaRMSNorm> q_norm_, k_norm_;
};

struct Glm4MoeParts : MoeParts {
  using Settings = Glm4MoeConfig;
  using DecoderLayer =
      PreNormDecoderLayer<Glm4MoeAttention, MaybeSparseMlp<DeepseekMoe<DeepseekV3TopkRouter>>>;
  using Norm = LlamaRMSNorm;
};

}  // namespace

ModelPointer build_glm4_moe(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Glm4MoeParts>>(c, Glm4MoeConfig(c, options), options);
}

}  // namespace memtape::family
