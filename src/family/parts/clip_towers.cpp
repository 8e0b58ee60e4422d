// SPDX-License-Identifier: Apache-2.0
#include "family/parts/clip_towers.h"

#include "family/parts/activations.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cudnn_convolution.h"
#include "ghost/ops/joins.h"
#include "nn/layer_stack.h"

namespace memtape::family {

ClipTowerConfig::ClipTowerConfig(const Config& c, const ModelOptions& options,
                                 const ClipDefaults& defaults)
    : hidden_size(c.dimension("hidden_size", defaults.hidden_size)),
      intermediate_size(c.dimension("intermediate_size", defaults.intermediate_size)),
      num_hidden_layers(c.layers("num_hidden_layers", 12)),
      num_attention_heads(c.dimension("num_attention_heads", defaults.num_attention_heads)),
      hidden_act(activation(c, "hidden_act", defaults.hidden_act)),
      attention_dropout(c.number("attention_dropout", 0.0)),
      attention(options.attention) {}

ClipVisionConfig::ClipVisionConfig(const Config& c, const ModelOptions& options)
    : ClipTowerConfig(c, options,
                      {.hidden_size = 768, .intermediate_size = 3072, .num_attention_heads = 12}),
      num_channels(c.dimension("num_channels", 3)),
      image_size(c.dimension("image_size", 224)),
      patch_size(c.dimension("patch_size", 32)) {}

ClipAttention::ClipAttention(const nn::Scope& scope, const ClipTowerConfig& c)
    : Module(scope),
      call_{
          .implementation = c.attention, .dropout = c.attention_dropout, .is_causal = c.is_causal},
      head_dim_(c.hidden_size / c.num_attention_heads),
      k_proj_(scope / "k_proj", c.hidden_size, c.hidden_size),
      v_proj_(scope / "v_proj", c.hidden_size, c.hidden_size),
      q_proj_(scope / "q_proj", c.hidden_size, c.hidden_size),
      out_proj_(scope / "out_proj", c.hidden_size, c.hidden_size) {}

Tensor ClipAttention::forward(const Tensor& hidden_states, const Tensor& attention_mask) {
  const Dims input_shape = hidden_states.sizes().leading();
  const Dims hidden_shape = input_shape.with(-1).with(head_dim_);
  Tensor queries = q_proj_(hidden_states);
  Tensor keys = k_proj_(hidden_states);
  Tensor values = v_proj_(hidden_states);
  for (Tensor* const states : {&queries, &keys, &values})
    *states = states->view(hidden_shape).transpose(1, 2);
  Tensor attn_output = attention_interface(call_, queries, keys, values, attention_mask);
  attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
  attn_output = out_proj_(attn_output);
  return attn_output;
}

ClipEncoderLayer::ClipEncoderLayer(const nn::Scope& scope, const ClipTowerConfig& c)
    : GradientCheckpointingLayer(scope),
      self_attn_(scope / "self_attn", c),
      layer_norm1_(scope / "layer_norm1", c.hidden_size),
      mlp_(scope / "mlp", c),
      layer_norm2_(scope / "layer_norm2", c.hidden_size) {}

Tensor ClipEncoderLayer::forward(const Tensor& x, const Tensor& attention_mask) {
  Tensor residual = x;
  Tensor hidden_states = layer_norm1_(x);
  hidden_states = self_attn_(hidden_states, attention_mask);
  hidden_states = residual.add(hidden_states);

  residual = hidden_states;
  hidden_states = layer_norm2_(hidden_states);
  hidden_states = mlp_(hidden_states);
  hidden_states = residual.add(hidden_states);
  return hidden_states;
}

ClipEncoder::ClipEncoder(const nn::Scope& scope, const ClipTowerConfig& c)
    : Module(scope), layers_(scope / "layers", c.num_hidden_layers, c) {}

Tensor ClipEncoder::forward(const Tensor& inputs_embeds, const Tensor& attention_mask) {
  return nn::run_layers(layers_, inputs_embeds, 1,
                        [&](ClipEncoderLayer& layer, std::size_t, const Tensor& x) {
                          return layer(x, attention_mask);
                        });
}

ClipVisionEmbeddings::ClipVisionEmbeddings(const nn::Scope& scope, const ClipVisionConfig& c)
    : Module(scope),
      patch_size_(c.patch_size),
      class_embedding_(scope.parameter("class_embedding", {c.hidden_size})),
      patch_embedding_(scope / "patch_embedding",
                       Dims{c.hidden_size, c.num_channels, c.patch_size, c.patch_size}, false),
      position_embedding_(scope / "position_embedding", c.num_positions(), c.hidden_size),
      position_ids_(scope, c.num_positions()) {}

Tensor ClipVisionEmbeddings::forward(const Tensor& pixel_values) {
  Tensor patch_embeds;
  {
    const ghost::ScopeGuard guard(patch_embedding_.node().scope);
    patch_embeds =
        ghost::cudnn_convolution(pixel_values, patch_embedding_.weight, {}, patch_size_, 0);
  }
  const Dims flat{patch_embeds.size(0), patch_embeds.size(1), -1};
  patch_embeds = std::move(patch_embeds).reshape(flat).transpose(1, 2);
  const Tensor class_embeds =
      class_embedding_.expand({pixel_values.size(0), 1, class_embedding_.size(0)});
  Tensor embeddings = ghost::cat({class_embeds, patch_embeds}, 1);
  embeddings = embeddings.add(position_embedding_(position_ids_.tensor()));
  return embeddings;
}

ClipVisionTower::ClipVisionTower(const nn::Scope& scope, const ClipVisionConfig& c)
    : Module(scope),
      embeddings_(scope / "embeddings", c),
      pre_layrnorm_(scope / "pre_layrnorm", c.hidden_size),
      encoder_(scope / "encoder", c),
      post_layernorm_(scope / "post_layernorm", c.hidden_size) {
  embeddings_.init_weights();
}

ClipTowerOutput ClipVisionTower::forward(const Tensor& pixel_values) {
  Tensor hidden_states = embeddings_(pixel_values);
  hidden_states = pre_layrnorm_(hidden_states);
  ClipTowerOutput out;
  out.last_hidden_state = encoder_(hidden_states, Tensor());
  out.pooler_output = out.last_hidden_state.select(1, 0);
  out.pooler_output = post_layernorm_(out.pooler_output);
  return out;
}

}  // namespace memtape::family
