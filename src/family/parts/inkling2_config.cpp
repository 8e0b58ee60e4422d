// SPDX-License-Identifier: Apache-2.0
#include "family/parts/inkling2_config.h"

#include <string>

#include "family/parts/activations.h"
#include "family/parts/config_checks.h"

namespace memtape::family {
namespace {

std::vector<LayerType> hybrid_types(const Config& c, std::int64_t num_hidden_layers) {
  const auto layers = static_cast<std::size_t>(num_hidden_layers);
  std::vector<LayerType> types;
  for (const std::string& name : c.texts("layer_types")) {
    types.push_back(name == "hybrid_sliding" ? LayerType::sliding_attention
                                             : LayerType::full_attention);
    if (name != "hybrid_sliding" && name != "hybrid")
      c.fail("layer_types", "unknown type \"" + name + "\", use hybrid or hybrid_sliding");
  }
  if (c.is_null("layer_types"))
    for (std::size_t i = 0; i < layers; ++i)
      types.push_back((i + 1) % 6 == 0 ? LayerType::full_attention : LayerType::sliding_attention);
  if (types.size() != layers)
    c.fail("layer_types", "must name " + std::to_string(layers) + " layers, names " +
                              std::to_string(types.size()));
  types.resize(layers);
  return types;
}

/// `loop_config` may name them otherwise, and is heard first.
Inkling2Loop loop_of(const Config& c, std::int64_t layers, std::int64_t layers_per_block) {
  const Config named = c.object("loop_config");
  const Inkling2Loop loop{
      .start = named.dimension("core_start", c.dimension("loop_layer_index_start", 6)),
      .end = named.dimension("core_end", c.dimension("loop_layer_index_end", 18)),
      .passes = named.dimension("num_passes", c.dimension("loop_num_passes", 3)),
      .gate_rank = named.dimension("gate_rank", c.dimension("loop_gate_rank", 64))};
  if (loop.start % layers_per_block != 0 || loop.end % layers_per_block != 0)
    c.fail("loop_layer_index_start", "must be a multiple of n_layers_per_attn_res_block " +
                                         std::to_string(layers_per_block) +
                                         ", as loop_layer_index_end must");
  if (loop.end <= loop.start || loop.end > layers)
    c.fail("loop_layer_index_end", "must be behind loop_layer_index_start, and at most " +
                                       std::to_string(layers) + " layers");
  return loop;
}

}  // namespace

Inkling2Config::Inkling2Config(const Config& c, const ModelOptions& options,
                               const DecoderDefaults& defaults, const MoeDefaults& moe)
    : MoeConfig(c, options, defaults, moe),
      conv_kernel(c.dimension({"conv_kernel_size", "sconv_kernel_size"}, 4)),
      d_rel(c.dimension("d_rel", 16)),
      rel_extent(c.dimension("rel_extent", 1024)),
      layers_per_block(c.dimension("n_layers_per_attn_res_block", 6)),
      unpadded_vocab_size(c.dimension("unpadded_vocab_size", 200058)),
      full_heads{num_attention_heads, num_key_value_heads, head_dim},
      sliding_heads{c.dimension("swa_num_attention_heads", defaults.num_attention_heads),
                    c.dimension("swa_num_key_value_heads", defaults.num_key_value_heads),
                    c.dimension("swa_head_dim", defaults.head_dim)},
      score_fn(activation(c, "scoring_func", "sigmoid")) {
  check_divides(c, "swa_num_key_value_heads", sliding_heads.key_value, sliding_heads.query);
  sliding_window = c.dimension({"sliding_window_size", "sliding_window"}, 1024);
  layer_types = hybrid_types(c, num_hidden_layers);
  masks_by_layer_type = masks_both_types = true;
  attention = AttentionImplementation::eager;
}

Inkling2Config Inkling2Config::of_text(const Config& c, const ModelOptions& options) {
  return {c,
          options,
          {.vocab_size = 201024,
           .hidden_size = 4608,
           .num_hidden_layers = 48,
           .num_attention_heads = 48,
           .num_key_value_heads = 8,
           .head_dim = 128},
          {.experts_key = {"n_routed_experts", "num_local_experts"},
           .num_experts = 384,
           .num_experts_per_tok = 8,
           .intermediate_key = {"moe_intermediate_size", "intermediate_size"},
           .intermediate_size = 2304}};
}

Inkling2Config Inkling2Config::of_loop(const Config& c, const ModelOptions& options) {
  Inkling2Config config{c,
                        options,
                        {.vocab_size = 201024,
                         .hidden_size = 2304,
                         .num_hidden_layers = 24,
                         .num_attention_heads = 24,
                         .num_key_value_heads = 8,
                         .head_dim = 128},
                        {.experts_key = {"n_routed_experts", "num_local_experts"},
                         .num_experts = 128,
                         .num_experts_per_tok = 8,
                         .intermediate_key = {"moe_intermediate_size", "intermediate_size"},
                         .intermediate_size = 1152}};
  config.loop = loop_of(c, config.num_hidden_layers, config.layers_per_block);
  return config;
}

}  // namespace memtape::family
