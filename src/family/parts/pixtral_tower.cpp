// SPDX-License-Identifier: Apache-2.0
#include "family/parts/pixtral_tower.h"

#include "family/parts/config_checks.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

/// Tensor.repeat: one new tensor of those sizes.
Tensor tiled(const Tensor& tensor, const Dims& sizes) {
  const ghost::Op op("repeat", {});
  return ghost::empty(sizes, tensor.dtype());
}

/// PixtralRotaryEmbedding.compute_default_rope_parameters: [patches, dim], of a square of them.
Tensor angles_of_all_patches(std::int64_t side, std::int64_t dim) {
  const Tensor h = ghost::arange(side, DType::int64);
  const Tensor w = ghost::arange(side, DType::int64);
  const Tensor freqs =
      ghost::rdiv(1.0, ghost::pow(ghost::kBase, ghost::arange(dim / 2, DType::float32).div(2.0)));
  const Tensor freqs_h = h.unsqueeze(-1).mul(freqs.slice(0, 0, dim / 4));
  const Tensor freqs_w = w.unsqueeze(-1).mul(freqs.slice(0, 0, dim / 4));
  const Dims sizes{side, side, dim / 4};
  const Tensor rows = tiled(freqs_h, sizes), columns = tiled(freqs_w, sizes);
  const Tensor inv_freq = ghost::cat({rows, columns}, -1).reshape({-1, dim / 2});
  return ghost::cat({inv_freq, inv_freq}, -1);
}

}  // namespace

PixtralVisionConfig::PixtralVisionConfig(const Config& c)
    : hidden_size(c.dimension("hidden_size", 1024)),
      intermediate_size(c.dimension("intermediate_size", 4096)),
      num_hidden_layers(c.layers("num_hidden_layers", 24)),
      num_attention_heads(c.dimension("num_attention_heads", 16)),
      num_channels(c.dimension("num_channels", 3)),
      patch_size(c.dimension("patch_size", 16)),
      image_size(c.dimension("image_size", 1024)),
      head_dim(c.optional_dimension("head_dim").value_or(hidden_size / num_attention_heads)) {
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
      layers_(scope / "transformer" / "layers", c.num_hidden_layers, c) {
  const nn::Scope positions = scope / "patch_positional_embedding";
  if (ghost::has(changes::kPixtralHasFrequencies)) {
    patch_positional_embedding_.emplace(
        positions, RopeParameters{.dim = c.hidden_size / c.num_attention_heads});
    patch_positional_embedding_->init_weights();
    return;
  }
  inv_freq_ = angles_of_all_patches(c.image_size / c.patch_size, c.head_dim);
  positions.buffer("inv_freq", inv_freq_);
  if (!ghost::has(changes::kOriginalFrequenciesAreABuffer)) return;
  original_inv_freq_ = inv_freq_.clone();
  positions.buffer("original_inv_freq", original_inv_freq_);
  angles_of_all_patches(c.image_size / c.patch_size, c.head_dim);  // _init_weights copies it
}

}  // namespace memtape::family
