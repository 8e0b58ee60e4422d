// SPDX-License-Identifier: Apache-2.0
#include "family/parts/mllama_tower.h"

#include <algorithm>
#include <string>

#include "nn/layers.h"

namespace memtape::family {
namespace {

/// Sizes of the tower, from vision_config.
struct TowerSizes {
  explicit TowerSizes(const Config& c)
      : hidden(c.dimension("hidden_size", 1280)),
        inner(c.dimension("intermediate_size", 5120)),
        tiles(c.dimension("max_num_tiles", 4)),
        patch(c.dimension("patch_size", 14)),
        channels(c.dimension("num_channels", 3)),
        layers(c.layers("num_hidden_layers", 32)),
        global_layers(c.layers("num_global_layers", 8)),
        out(c.dimension("vision_output_dim", 7680)) {
    const std::int64_t side = c.dimension("image_size", 448) / patch;
    patches = side * side + 1;
    const std::string ratios = c.json("supported_aspect_ratios");  // [[1, 1], [1, 2], ...]
    const auto pairs = std::ranges::count(ratios, '[') - 1;
    aspect_ratios = (pairs > 0 ? pairs : kDefaultPairs) + 1;
  }

  static constexpr std::int64_t kDefaultPairs = 8;
  std::int64_t hidden, inner, tiles, patch, channels, layers, global_layers, out;
  std::int64_t patches = 0, aspect_ratios = 0;
};

void make_norm(const nn::Scope& scope, std::int64_t width) {
  scope.parameter("weight", {width});
  scope.parameter("bias", {width});
}

void make_linear(const nn::Scope& scope, std::int64_t in, std::int64_t out, bool bias) {
  scope.parameter("weight", {out, in});
  if (bias) scope.parameter("bias", {out});
}

/// MllamaVisionEncoderLayer.
void make_layer(const nn::Scope& scope, const TowerSizes& sizes, bool is_gated) {
  const nn::Scope attention = scope / "self_attn", mlp = scope / "mlp";
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    make_linear(attention / name, sizes.hidden, sizes.hidden, false);
  make_linear(mlp / "fc1", sizes.hidden, sizes.inner, true);
  make_linear(mlp / "fc2", sizes.inner, sizes.hidden, true);
  make_norm(scope / "input_layernorm", sizes.hidden);
  make_norm(scope / "post_attention_layernorm", sizes.hidden);
  if (!is_gated) return;
  scope.parameter("gate_attn", {1});
  scope.parameter("gate_ffn", {1});
}

void make_layers(const nn::Scope& scope, const TowerSizes& sizes, std::int64_t count,
                 bool is_gated) {
  const nn::Scope layers = scope / "layers";
  for (std::int64_t i = 0; i < count; ++i) make_layer(layers / i, sizes, is_gated);
}

/// MllamaPrecomputedAspectRatioEmbedding.
void make_tile_positions(const nn::Scope& scope, const TowerSizes& sizes) {
  (scope / "embedding").parameter("weight", {sizes.aspect_ratios, sizes.tiles * sizes.hidden});
  scope.parameter("gate", {1});
}

}  // namespace

void make_mllama_tower(const nn::Scope& model, const Config& config) {
  const TowerSizes sizes(config.object("vision_config"));
  const nn::Scope vision = model / "vision_model";
  (vision / "patch_embedding")
      .parameter("weight", {sizes.hidden, sizes.channels, sizes.patch, sizes.patch});
  vision.parameter("class_embedding", {sizes.hidden});
  const nn::Scope positions = vision / "gated_positional_embedding";
  positions.parameter("gate", {1});
  positions.parameter("embedding", {sizes.patches, sizes.hidden});
  (positions / "tile_embedding")
      .parameter("weight", {sizes.aspect_ratios, sizes.tiles * sizes.patches * sizes.hidden});
  make_tile_positions(vision / "pre_tile_positional_embedding", sizes);
  make_tile_positions(vision / "post_tile_positional_embedding", sizes);
  make_norm(vision / "layernorm_pre", sizes.hidden);
  make_norm(vision / "layernorm_post", sizes.hidden);
  make_layers(vision / "transformer", sizes, sizes.layers, /*is_gated=*/false);
  make_layers(vision / "global_transformer", sizes, sizes.global_layers, /*is_gated=*/true);
  make_linear(model / "multi_modal_projector", sizes.out,
              config.object("text_config").dimension("hidden_size", 4096), true);
}

}  // namespace memtape::family
