// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/further_dense.h"

#include "framework/vllm/models/dense.h"

namespace memtape::vllm {
namespace {

bool has_bias(const Config& config) { return config.boolean({"attention_bias", "bias"}, false); }

}  // namespace

std::unique_ptr<ServedModel> make_glm4(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) {
    constexpr double kRotaryPart = 0.5;
    return dense_blocks(layer,
                        {.qkv_bias = layer.config().boolean("attention_bias", false),
                         .partial_rotary_factor = kRotaryPart},
                        {.drops_projection = true});
  };
  return make_stream_decoder(place, {.blocks = blocks, .form = LayerForm::sandwich});
}

std::unique_ptr<ServedModel> make_exaone(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t) {
    const bool bias = has_bias(layer.config());
    return dense_blocks(
        layer, {.qkv_bias = bias, .output_bias = bias, .names = {"qkv_proj", "out_proj", "attn"}},
        {.bias = layer.config().boolean("mlp_bias", false)});
  };
  return make_stream_decoder(place, {.blocks = blocks, .layers_name = "h"});
}

std::unique_ptr<ServedModel> make_exaone4(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) {
    const Config& config = layer.config();
    const bool bias = has_bias(config);
    const std::int64_t window = layer_window(config, index);
    return dense_blocks(layer,
                        {.qkv_bias = bias,
                         .output_bias = bias,
                         .qk_norm = true,
                         .window = window > 0 ? window : AttentionOptions::kFull},
                        {.bias = config.boolean("mlp_bias", false)});
  };
  return make_stream_decoder(place, {.blocks = blocks, .form = LayerForm::post_norm});
}

}  // namespace memtape::vllm
