// SPDX-License-Identifier: Apache-2.0
#include "family/parts/dots3_towers.h"

#include <algorithm>
#include <string>

#include "family/parts/config_checks.h"
#include "ghost/ops/creation.h"

namespace memtape::family {

Dots3VisionConfig::Dots3VisionConfig(const Config& c)
    : hidden_size(c.dimension({"hidden_size", "embed_dim"}, 1536)),
      intermediate_size(c.dimension("intermediate_size", 4224)),
      num_hidden_layers(c.layers("num_hidden_layers", 42)),
      num_attention_heads(c.dimension({"num_attention_heads", "num_heads"}, 24)),
      num_channels(c.dimension("num_channels", 3)),
      patch_size(c.dimension("patch_size", 14)),
      moe_intermediate_size(c.dimension("moe_intermediate_size", 2112)),
      adapter_in_dim(c.dimension("adapter_in_dim", 1536)),
      adapter_out_dim(c.dimension("adapter_out_dim", 5120)),
      adapter_merge_size(c.dimension("adapter_merge_size", 2)),
      attention_bias(c.boolean("attention_bias", c.boolean("use_bias", false))),
      mlp_bias(c.boolean("mlp_bias", false)) {
  check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
  read_experts(c);
}

void Dots3VisionConfig::read_experts(const Config& c) {
  const std::vector<std::string> types = c.texts("mlp_layer_types");
  std::vector<std::int64_t> pyramid = c.integers("pyramid_num_routed");
  if (pyramid.empty() && types.empty()) {
    pyramid.assign(25, -1);
    for (std::int64_t count = 4; count <= 64; count += 4) pyramid.push_back(count);
    pyramid.push_back(64);
  }
  const Config by_layer = c.object("per_layer_config");
  const std::int64_t common = c.dimension("num_local_experts", 64);
  for (std::size_t i = 0; i < std::max(pyramid.size(), types.size()); ++i) {
    if (!pyramid.empty())
      experts.push_back(std::max<std::int64_t>(pyramid[i], 0));
    else
      experts.push_back(
          types[i] == "sparse"
              ? by_layer.object(std::to_string(i)).dimension("num_local_experts", common)
              : 0);
  }
  const auto layers = static_cast<std::size_t>(num_hidden_layers);
  if (experts.size() < layers)
    c.fail(
        pyramid.empty() ? "mlp_layer_types" : "pyramid_num_routed",
        "must name " + std::to_string(layers) + " layers, names " + std::to_string(experts.size()));
  experts.resize(layers);
}

Dots3AudioConfig::Dots3AudioConfig(const Config& c)
    : hidden_size(
          c.object("whisper_config").dimension("d_model", c.dimension("hidden_size", 1280))),
      intermediate_size(c.object("whisper_config")
                            .dimension("encoder_ffn_dim", c.dimension("intermediate_size", 5120))),
      num_hidden_layers(
          c.object("whisper_config").layers("encoder_layers", c.layers("num_hidden_layers", 32))),
      num_attention_heads(
          c.object("whisper_config")
              .dimension("encoder_attention_heads", c.dimension("num_attention_heads", 20))),
      feature_size(
          c.object("whisper_config").dimension("num_mel_bins", c.dimension("feature_size", 128))),
      downsample_hidden_size(c.dimension("downsample_hidden_size", 480)),
      adapter_input_size(c.dimension({"adapter_input_size", "whisper_adapter_in_dim"}, 1280)),
      adapter_out_dim(
          c.dimension({"adapter_out_dim", "whisper_adapter_out_dim", "adapter_output_size"}, 5120)),
      attention_bias(c.boolean("attention_bias", true)) {
  check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
}

Dots3TowersConfig::Dots3TowersConfig(const Config& whole, std::int64_t text_hidden_size)
    : vision(whole.object("vision_config")), audio(whole.object("audio_config")) {
  const std::string size = std::to_string(text_hidden_size);
  if (vision.adapter_out_dim != text_hidden_size)
    whole.object("vision_config").fail("adapter_out_dim", "must be the text's hidden_size " + size);
  if (audio.adapter_out_dim != text_hidden_size)
    whole.object("audio_config").fail("adapter_out_dim", "must be the text's hidden_size " + size);
}

Dots3Towers::Dots3Towers(const nn::Scope& scope, const Dots3TowersConfig& c) {
  make_vision(scope / "vision_tower", c.vision);
  make_audio(scope / "audio_tower", c.audio);
}

void Dots3Towers::make_vision(const nn::Scope& scope, const Dots3VisionConfig& c) {
  const nn::Scope patches = scope / "patch_embed";
  made_.convolution(patches / "proj", {c.hidden_size, c.num_channels, c.patch_size, c.patch_size},
                    true);
  made_.rms_norm(patches / "norm", c.hidden_size);
  made_.rotary(scope / "rotary_pos_emb", c.hidden_size / c.num_attention_heads / 2);
  const nn::Scope blocks = scope / "blocks";
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i)
    make_block(blocks / i, c, c.experts[static_cast<std::size_t>(i)]);
  const nn::Scope merger = scope / "merger";
  const std::int64_t merged = c.adapter_in_dim * c.adapter_merge_size * c.adapter_merge_size;
  made_.layer_norm(merger / "ln_q", c.adapter_in_dim);
  const nn::Scope mlp = merger / "mlp";
  made_.linear(mlp / "0", merged, merged, true);
  made_.linear(mlp / "2", merged, c.adapter_out_dim, true);
  made_.rms_norm(scope / "norm", c.hidden_size);
}

void Dots3Towers::make_block(const nn::Scope& scope, const Dots3VisionConfig& c,
                             std::int64_t experts) {
  const std::int64_t head_dim = c.hidden_size / c.num_attention_heads;
  made_.rms_norm(scope / "norm1", c.hidden_size);
  const nn::Scope attention = scope / "attn", mlp = scope / "mlp";
  made_.linear(attention / "qkv", c.hidden_size, 3 * c.hidden_size, c.attention_bias);
  made_.linear(attention / "proj", c.hidden_size, c.hidden_size, c.attention_bias);
  made_.rms_norm(attention / "q_norm", head_dim);
  made_.rms_norm(attention / "k_norm", head_dim);
  made_.rms_norm(scope / "norm2", c.hidden_size);
  if (experts == 0) {
    made_.linear(mlp / "gate_proj", c.hidden_size, c.intermediate_size, c.mlp_bias);
    made_.linear(mlp / "up_proj", c.hidden_size, c.intermediate_size, c.mlp_bias);
    made_.linear(mlp / "down_proj", c.intermediate_size, c.hidden_size, c.mlp_bias);
    return;
  }
  const nn::Scope stacked = mlp / "experts";
  stacked.parameter("gate_up_proj", {experts, 2 * c.moe_intermediate_size, c.hidden_size});
  stacked.parameter("down_proj", {experts, c.hidden_size, c.moe_intermediate_size});
  (mlp / "gate").parameter("weight", {experts, c.hidden_size}, DType::float32);
  mlp.buffer("e_score_correction_bias", ghost::zeros({experts}, DType::float32));
}

void Dots3Towers::make_audio(const nn::Scope& scope, const Dots3AudioConfig& c) {
  const nn::Scope stem = scope / "conv_stem", convs = stem / "convs";
  std::int64_t in_channels = 1;
  for (std::int64_t i = 0; i < 3; ++i) {
    made_.convolution(convs / i, {c.downsample_hidden_size, in_channels, 3, 3}, true);
    in_channels = c.downsample_hidden_size;
  }
  made_.linear(stem / "conv_out", c.downsample_hidden_size * ((c.feature_size + 7) / 8),
               c.hidden_size, false);
  made_.rotary(scope / "rotary_embedding", c.hidden_size / c.num_attention_heads / 2);
  const nn::Scope layers = scope / "layers";
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) make_audio_layer(layers / i, c);
  made_.rms_norm(scope / "layer_norm", c.hidden_size);
  const nn::Scope adapter = scope / "adapter";
  made_.layer_norm(adapter / "norm", c.adapter_input_size);
  made_.linear(adapter / "fc1", c.adapter_input_size, c.adapter_out_dim, true);
  made_.linear(adapter / "fc2", c.adapter_out_dim, c.adapter_out_dim, true);
}

void Dots3Towers::make_audio_layer(const nn::Scope& scope, const Dots3AudioConfig& c) {
  const nn::Scope attention = scope / "self_attn", mlp = scope / "mlp";
  made_.linear(attention / "q_proj", c.hidden_size, c.hidden_size, c.attention_bias);
  made_.linear(attention / "k_proj", c.hidden_size, c.hidden_size, false);
  made_.linear(attention / "v_proj", c.hidden_size, c.hidden_size, c.attention_bias);
  made_.linear(attention / "o_proj", c.hidden_size, c.hidden_size, c.attention_bias);
  made_.rms_norm(scope / "input_layernorm", c.hidden_size);
  made_.linear(mlp / "gate_up_proj", c.hidden_size, 2 * c.intermediate_size, true);
  made_.linear(mlp / "down_proj", c.intermediate_size, c.hidden_size, true);
  made_.rms_norm(scope / "post_attention_layernorm", c.hidden_size);
}

}  // namespace memtape::family
