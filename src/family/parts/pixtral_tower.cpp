// SPDX-License-Identifier: Apache-2.0
#include "family/parts/pixtral_tower.h"

#include "family/parts/config_checks.h"

namespace memtape::family {

PixtralVisionConfig::PixtralVisionConfig(const Config& c)
    : hidden_size(c.dimension("hidden_size", 1024)),
      intermediate_size(c.dimension("intermediate_size", 4096)),
      num_hidden_layers(c.layers("num_hidden_layers", 24)),
      num_attention_heads(c.dimension("num_attention_heads", 16)),
      num_channels(c.dimension("num_channels", 3)),
      patch_size(c.dimension("patch_size", 16)) {
  check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
}

PixtralLayer::PixtralLayer(const nn::Scope& scope, const PixtralVisionConfig& c)
    : attention_norm_(scope / "attention_norm", c.hidden_size),
      feed_forward_(scope / "feed_forward"),
      gate_proj_(feed_forward_ / "gate_proj", c.hidden_size, c.intermediate_size, false),
      up_proj_(feed_forward_ / "up_proj", c.hidden_size, c.intermediate_size, false),
      down_proj_(feed_forward_ / "down_proj", c.intermediate_size, c.hidden_size, false),
      attention_(scope / "attention"),
      k_proj_(attention_ / "k_proj", c.hidden_size, c.hidden_size, false),
      v_proj_(attention_ / "v_proj", c.hidden_size, c.hidden_size, false),
      q_proj_(attention_ / "q_proj", c.hidden_size, c.hidden_size, false),
      o_proj_(attention_ / "o_proj", c.hidden_size, c.hidden_size, false),
      ffn_norm_(scope / "ffn_norm", c.hidden_size) {}

PixtralVisionTower::PixtralVisionTower(const nn::Scope& scope, const PixtralVisionConfig& c)
    : patch_conv_(scope / "patch_conv",
                  Dims{c.hidden_size, c.num_channels, c.patch_size, c.patch_size}, false),
      ln_pre_(scope / "ln_pre", c.hidden_size),
      layers_(scope / "transformer" / "layers", c.num_hidden_layers, c),
      patch_positional_embedding_(scope / "patch_positional_embedding",
                                  {.dim = c.hidden_size / c.num_attention_heads}) {
  patch_positional_embedding_.init_weights();
}

}  // namespace memtape::family
