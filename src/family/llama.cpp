// SPDX-License-Identifier: Apache-2.0
#include "family/llama.h"

#include <tuple>

#include "family/activations.h"
#include "family/loss.h"
#include "family/masking.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {

LlamaConfig::LlamaConfig(const Config& c, const ModelOptions& options)
    : vocab_size(c.dimension("vocab_size", 32000)),
      hidden_size(c.dimension("hidden_size", 4096)),
      intermediate_size(c.dimension("intermediate_size", 11008)),
      num_hidden_layers(c.layers("num_hidden_layers", 32)),
      num_attention_heads(c.dimension("num_attention_heads", 32)),
      num_key_value_heads(c.optional_dimension("num_key_value_heads").value_or(num_attention_heads)),
      head_dim(c.optional_dimension("head_dim").value_or(hidden_size / num_attention_heads)),
      hidden_act(activation(c, "hidden_act", "silu")),
      tie_word_embeddings(c.boolean("tie_word_embeddings", false)),
      attention_bias(c.boolean("attention_bias", false)),
      mlp_bias(c.boolean("mlp_bias", false)),
      attention_dropout(c.number("attention_dropout", 0.0)),
      rope(rope_parameters(c, head_dim)),
      attention(options.attention) {}

LlamaRMSNorm::LlamaRMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
    : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

Tensor LlamaRMSNorm::forward(const Tensor& x) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  return weight_.mul(hidden_states.to(input_dtype));
}

LlamaMLP::LlamaMLP(const nn::Scope& scope, const LlamaConfig& c)
    : Module(scope),
      gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
      up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
      down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
      act_fn_(c.hidden_act) {}

Tensor LlamaMLP::forward(const Tensor& x) { return down_proj_(act_fn_(gate_proj_(x)).mul(up_proj_(x))); }

LlamaAttention::LlamaAttention(const nn::Scope& scope, const LlamaConfig& c)
    : Module(scope),
      call_{.implementation = c.attention,
            .num_key_value_groups = c.num_attention_heads / c.num_key_value_heads,
            .dropout = c.attention_dropout},
      head_dim_(c.head_dim),
      q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.attention_bias),
      k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.attention_bias),
      v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.attention_bias),
      o_proj_(scope / "o_proj", c.num_attention_heads * c.head_dim, c.hidden_size, c.attention_bias) {}

Tensor LlamaAttention::forward(const Tensor& hidden_states, const Tensor& attention_mask, const CosSin& position_embeddings) {
  const Dims input_shape = hidden_states.sizes().leading();
  const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
  Tensor query_states = q_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
  Tensor key_states = k_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
  const Tensor value_states = v_proj_(hidden_states).view(hidden_shape).transpose(1, 2);
  std::tie(query_states, key_states) = apply_rotary_pos_emb(query_states, key_states, position_embeddings);
  const Tensor attn_output = attention_interface(call_, query_states, key_states, value_states, attention_mask)
                                 .reshape(input_shape.with(-1))
                                 .contiguous();
  return o_proj_(attn_output);
}

LlamaDecoderLayer::LlamaDecoderLayer(const nn::Scope& scope, const LlamaConfig& c)
    : GradientCheckpointingLayer(scope),
      self_attn_(scope / "self_attn", c),
      mlp_(scope / "mlp", c),
      input_layernorm_(scope / "input_layernorm", c.hidden_size),
      post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size) {}

Tensor LlamaDecoderLayer::forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                                  const Tensor&) {
  Tensor residual = x;
  Tensor hidden_states = input_layernorm_(x);
  hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
  hidden_states = residual.add(hidden_states);

  residual = hidden_states;
  hidden_states = post_attention_layernorm_(hidden_states);
  hidden_states = mlp_(hidden_states);
  return residual.add(hidden_states);
}

LlamaModel::LlamaModel(const nn::Scope& scope, const LlamaConfig& c)
    : Module(scope),
      embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
      config_(c),
      layers_(scope / "layers", c.num_hidden_layers, c),
      norm_(scope / "norm", c.hidden_size),
      rotary_emb_(scope / "rotary_emb", c.rope) {
  rotary_emb_.init_weights();
}

Tensor LlamaModel::forward(const Tensor& input_ids, const Tensor& attention_mask) {
  const Tensor inputs_embeds = embed_tokens(input_ids);
  const Tensor position_ids = ghost::arange(inputs_embeds.size(1), DType::int64).add(0).unsqueeze(0);
  const Tensor causal_mask =
      create_causal_mask({.attention = config_.attention, .attention_mask = attention_mask}, inputs_embeds, position_ids);
  Tensor hidden_states = inputs_embeds;
  const CosSin position_embeddings = rotary_emb_(hidden_states, position_ids);
  for (LlamaDecoderLayer& decoder_layer : layers_)
    hidden_states = decoder_layer(hidden_states, causal_mask, position_embeddings, position_ids);
  return norm_(hidden_states);
}

LlamaForCausalLM::LlamaForCausalLM(const LlamaConfig& config, const ModelOptions& options)
    : PretrainedModel(options),
      config_(config),
      model_(root() / "model", config),
      lm_head_(root() / "lm_head", config.hidden_size, config.vocab_size, false) {
  if (config.tie_word_embeddings) nn::tie(lm_head_, model_.embed_tokens.weight);
}

ModelOutput LlamaForCausalLM::forward(const Batch& batch) {
  const Tensor hidden_states = model_(batch.input_ids, batch.attention_mask);
  Tensor logits = lm_head_(hidden_states);
  Tensor loss = causal_lm_loss(logits, batch.labels, config_.vocab_size);
  return {std::move(loss), std::move(logits)};
}

}  // namespace memtape::family
