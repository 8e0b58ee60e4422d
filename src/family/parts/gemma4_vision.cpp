// SPDX-License-Identifier: Apache-2.0
#include "family/parts/gemma4_vision.h"

#include "ghost/ops/creation.h"

namespace memtape::family {
namespace {

Tensor buffer(const nn::Scope& scope, const char* name, const Dims& sizes) {
  Tensor made = ghost::zeros(sizes, scope.dtype(), Category::buffer);
  scope.buffer(name, made);
  return made;
}

/// hidden_states * torch.pow(mean_squared, -0.5)
Tensor pow_norm(const Tensor& hidden_states) {
  const Tensor mean_squared = hidden_states.pow(2).mean(-1, true).add(1e-6);
  return hidden_states.mul(mean_squared.pow(-0.5));
}

}  // namespace

Gemma4RMSNorm::Gemma4RMSNorm(const nn::Scope& scope, std::int64_t dim, bool with_scale)
    : Module(scope), weight_(with_scale ? scope.parameter("weight", {dim}) : Tensor()) {}

Tensor Gemma4RMSNorm::forward(const Tensor& hidden_states) {
  Tensor normed_output = pow_norm(hidden_states.to_float());
  if (weight_.defined()) normed_output = normed_output.mul(weight_.to_float());
  return normed_output.to(hidden_states.dtype());
}

Gemma4VisionConfig::Gemma4VisionConfig(const Config& c)
    : hidden_size(c.dimension("hidden_size", 768)),
      intermediate_size(c.dimension("intermediate_size", 3072)),
      num_hidden_layers(c.layers("num_hidden_layers", 16)),
      num_attention_heads(c.dimension("num_attention_heads", 12)),
      num_key_value_heads(c.dimension("num_key_value_heads", 12)),
      head_dim(c.dimension("head_dim", 64)),
      patch_size(c.dimension("patch_size", 16)),
      position_embedding_size(c.dimension("position_embedding_size", 10240)),
      use_clipped_linears(c.boolean("use_clipped_linears", false)),
      standardize(c.boolean("standardize", false)) {}

Gemma4ClippableLinear::Gemma4ClippableLinear(const nn::Scope& scope, const Gemma4VisionConfig& c,
                                             std::int64_t in, std::int64_t out)
    : linear_(scope / "linear", in, out, false) {
  if (!c.use_clipped_linears) return;
  for (const char* bound : {"input_min", "input_max", "output_min", "output_max"})
    buffer(scope, bound, {});
}

Gemma4VisionEncoderLayer::Gemma4VisionEncoderLayer(const nn::Scope& scope,
                                                   const Gemma4VisionConfig& c)
    : self_attn_(scope / "self_attn"),
      q_proj_(self_attn_ / "q_proj", c, c.hidden_size, c.num_attention_heads * c.head_dim),
      k_proj_(self_attn_ / "k_proj", c, c.hidden_size, c.num_key_value_heads * c.head_dim),
      v_proj_(self_attn_ / "v_proj", c, c.hidden_size, c.num_key_value_heads * c.head_dim),
      o_proj_(self_attn_ / "o_proj", c, c.num_attention_heads * c.head_dim, c.hidden_size),
      q_norm_(self_attn_ / "q_norm", c.head_dim),
      k_norm_(self_attn_ / "k_norm", c.head_dim),
      mlp_(scope / "mlp"),
      gate_proj_(mlp_ / "gate_proj", c, c.hidden_size, c.intermediate_size),
      up_proj_(mlp_ / "up_proj", c, c.hidden_size, c.intermediate_size),
      down_proj_(mlp_ / "down_proj", c, c.intermediate_size, c.hidden_size),
      input_layernorm_(scope / "input_layernorm", c.hidden_size),
      post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
      pre_feedforward_layernorm_(scope / "pre_feedforward_layernorm", c.hidden_size),
      post_feedforward_layernorm_(scope / "post_feedforward_layernorm", c.hidden_size) {}

/// The rope's frequencies are those of half a head: rows and columns share them.
Gemma4VisionModel::Gemma4VisionModel(const nn::Scope& scope, const Gemma4VisionConfig& c)
    : patch_embedder_(scope / "patch_embedder"),
      input_proj_(patch_embedder_ / "input_proj", 3 * c.patch_size * c.patch_size, c.hidden_size,
                  false),
      position_embedding_table_(patch_embedder_.parameter(
          "position_embedding_table", {2, c.position_embedding_size, c.hidden_size})),
      encoder_(scope / "encoder"),
      rotary_emb_(encoder_ / "rotary_emb", {.dim = c.head_dim / 2}),
      layers_(encoder_ / "layers", c.num_hidden_layers, c) {
  if (c.standardize) {
    std_bias_ = buffer(scope, "std_bias", {c.hidden_size});
    std_scale_ = buffer(scope, "std_scale", {c.hidden_size});
  }
  rotary_emb_.init_weights();
}

}  // namespace memtape::family
