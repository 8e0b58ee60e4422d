// SPDX-License-Identifier: Apache-2.0
// The dense decoders: Llama and what follows it (llama.py, mistral.py, phi3.py), Qwen 2 and 3,
// Gemma 1 to 3, Granite.
#include "framework/vllm/models/dense.h"

#include <algorithm>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/models/decoder.h"
#include "framework/vllm/ops.h"
#include "model/type_of.h"

namespace memtape::vllm {

Heads config_heads(const Place& place) {
  const Config& config = place.config();
  const std::int64_t heads = config.dimension({"num_attention_heads", "n_head"});
  const std::int64_t kv =
      config.optional_dimension({"num_key_value_heads", "num_kv_heads"}).value_or(heads);
  const std::int64_t size = config.optional_dimension("head_dim")
                                .value_or(config.dimension({"hidden_size", "n_embd"}) / heads);
  return {place.runtime(), heads, kv, size};
}

std::string layer_type(const Config& config, std::int64_t index) {
  const std::vector<std::string> types = config.texts("layer_types");
  const auto at = static_cast<std::size_t>(index);
  return at < types.size() ? types[at] : std::string();
}

std::int64_t layer_window(const Config& config, std::int64_t index) {
  return layer_type(config, index) == "sliding_attention"
             ? config.optional_integer("sliding_window").value_or(0)
             : 0;
}

LayerBlocks dense_blocks(const Place& place, const AttentionBlockOptions& attention,
                         const MlpOptions& mlp) {
  const Config& config = place.config();
  const std::int64_t hidden = config.dimension("hidden_size");
  auto attn =
      std::make_shared<AttentionBlock>(place / "self_attn", hidden, config_heads(place), attention);
  auto ffn =
      std::make_shared<GatedMlp>(place / "mlp", hidden, config.dimension("intermediate_size"), mlp);
  return {block_of(attn), block_of(ffn)};
}

std::unique_ptr<ServedModel> make_llama(const Place& place) {
  return make_stream_decoder(
      place, {.blocks = [](const Place& layer, std::int64_t index) {
        const Config& config = layer.config();
        const bool bias = config.boolean({"attention_bias", "bias"}, false);
        return dense_blocks(layer,
                            {.qkv_bias = config.boolean("qkv_bias", bias),
                             .output_bias = bias,
                             .window = layer_window(config, index)},
                            {.bias = config.boolean("mlp_bias", false), .drops_projection = true});
      }});
}

LayerBlocks qwen2_blocks(const Place& layer, std::int64_t) {
  return dense_blocks(layer, {.qkv_bias = true}, {});
}

std::unique_ptr<ServedModel> make_qwen2(const Place& place) {
  return make_stream_decoder(place, {.blocks = qwen2_blocks});
}

std::unique_ptr<ServedModel> make_qwen3(const Place& place) {
  return make_stream_decoder(place, {.blocks = [](const Place& layer, std::int64_t) {
                               return dense_blocks(
                                   layer,
                                   {.qkv_bias = layer.config().boolean("attention_bias", false),
                                    .qk_norm = true,
                                    .norm_last = true},
                                   {});
                             }});
}

std::unique_ptr<ServedModel> make_stablelm(const Place& place) {
  return make_stream_decoder(
      place, {.blocks =
                  [](const Place& layer, std::int64_t) {
                    constexpr double kRotaryPart = 0.25;  // StableLmConfig
                    return dense_blocks(layer,
                                        {.qkv_bias = layer.config().boolean("use_qkv_bias", false),
                                         .partial_rotary_factor = kRotaryPart},
                                        {});
                  },
              .form = LayerForm::plain_add,
              .layer_norm = true});
}

std::unique_ptr<ServedModel> make_internlm2(const Place& place) {
  return make_stream_decoder(
      place, {.blocks = [](const Place& layer, std::int64_t) {
        return dense_blocks(layer, {.copies_parts = true, .names = {"wqkv", "wo", "attn"}}, {});
      }});
}

std::unique_ptr<ServedModel> make_gemma(const Place& place) {
  return make_stream_decoder(
      place,
      {.blocks = [](const Place& layer, std::int64_t) { return dense_blocks(layer, {}, {}); },
       .norm = NormKind::gemma,
       .scales_embedding = true});
}

std::unique_ptr<ServedModel> make_gemma2(const Place& place) {
  const auto blocks = [](const Place& layer, std::int64_t index) {
    const Config& config = layer.config();
    const bool bias = config.boolean("attention_bias", false);
    const bool third = type_of(config).starts_with("gemma3");
    const std::string type = gemma_layer_type(config, index);
    return dense_blocks(
        layer,
        {.qkv_bias = bias,
         .output_bias = bias,
         .qk_norm = third,
         .norm = NormKind::gemma,
         .window = type == "sliding_attention" ? config.integer("sliding_window", 4096) : 0,
         .layer_type = third ? type : std::string()},
        {});
  };
  return make_stream_decoder(
      place,
      {.blocks = blocks,
       .form = LayerForm::sandwich,
       .norm = NormKind::gemma,
       .scales_embedding = true,
       .soft_caps_logits = place.config().optional_number("final_logit_softcapping").has_value()});
}

std::string gemma_layer_type(const Config& config, std::int64_t index) {
  if (config.has("layer_types")) return layer_type(config, index);
  // Gemma2Config and Gemma3TextConfig: every second layer, or every sliding_window_pattern-th, is
  // full.
  const std::int64_t pattern =
      type_of(config) == "gemma2" ? 2 : config.integer("sliding_window_pattern", 6);
  return (index + 1) % pattern != 0 ? "sliding_attention" : "full_attention";
}

namespace {

/// nemotron_nas.py: widths are given as a share of 8/3 of the hidden size, up to a multiple of 256.
std::int64_t deci_width(const Config& ffn, std::int64_t hidden) {
  constexpr std::int64_t kUnit = 256;
  const std::optional<double> share = ffn.optional_number("ffn_mult");
  if (!share) return ffn.dimension("intermediate_size");
  return round_up(static_cast<std::int64_t>(2 * *share * static_cast<double>(hidden) / 3), kUnit);
}

/// Each layer has its own heads and width, and may lack either block.
LayerBlocks deci_blocks(const Place& layer, std::int64_t index) {
  const Config& c = layer.config();
  const std::vector<Config> blocks = c.objects("block_configs");
  const auto at = static_cast<std::size_t>(index);
  if (at >= blocks.size()) {
    c.fail("block_configs", "has fewer entries than there are layers");
    return {};
  }
  const std::int64_t hidden = c.dimension("hidden_size");
  const Config attention = blocks[at].object("attention"), ffn = blocks[at].object("ffn");
  LayerBlocks made;
  if (!attention.boolean("no_op", false)) {
    const std::int64_t heads = c.dimension("num_attention_heads");
    const std::int64_t kv =
        std::max<std::int64_t>(1, heads / attention.dimension("n_heads_in_group"));
    const bool bias = c.boolean({"attention_bias", "bias"}, false);
    made.attention = block_of(std::make_shared<AttentionBlock>(
        layer / "self_attn", hidden, Heads(layer.runtime(), heads, kv, hidden / heads),
        AttentionBlockOptions{.qkv_bias = bias, .output_bias = bias}));
  }
  if (!ffn.boolean("no_op", false))
    made.feed_forward = block_of(std::make_shared<GatedMlp>(
        layer / "mlp", hidden, deci_width(ffn, hidden),
        MlpOptions{.bias = c.boolean("mlp_bias", false), .drops_projection = true}));
  return made;
}

}  // namespace

std::unique_ptr<ServedModel> make_deci(const Place& place) {
  return make_stream_decoder(place, {.blocks = deci_blocks});
}

std::unique_ptr<ServedModel> make_granite(const Place& place) {
  return make_stream_decoder(
      place,
      {.blocks =
           [](const Place& layer, std::int64_t index) {
             const Config& config = layer.config();
             const bool bias = config.boolean({"attention_bias", "bias"}, false);
             return dense_blocks(
                 layer,
                 {.qkv_bias = bias, .output_bias = bias, .window = layer_window(config, index)},
                 {.bias = config.boolean("mlp_bias", false)});
           },
       .form = LayerForm::explicit_add});
}

}  // namespace memtape::vllm
