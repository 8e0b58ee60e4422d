// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/llama4_encoder.h"

#include <cmath>

#include "framework/vllm/models/encoder_ops.h"
#include "framework/vllm/models/vision.h"

namespace memtape::vllm {
namespace {

/// Patches of a tile.
std::int64_t tile_patches(const Config& vision) {
  return squared(vision.dimension("image_size", 336) / vision.dimension("patch_size", 14));
}

/// Patches that pixel_shuffle makes one token.
std::int64_t merged_patches(const Config& vision) {
  const double ratio = vision.number("pixel_shuffle_ratio", 0.5);
  return std::max<std::int64_t>(1, std::llround(1.0 / (ratio * ratio)));
}

class Llama4EncoderRun {
 public:
  Llama4EncoderRun(const Runtime& runtime, const Encoders& encoders)
      : ops_(runtime),
        vision_(runtime.config.object("vision_config")),
        hidden_(vision_.dimension("hidden_size", 768)),
        heads_(vision_.dimension("num_attention_heads", 16)),
        inner_(vision_.dimension("intermediate_size", 5632)),
        tiles_(encoders.items * encoders.item.parts) {}

  std::vector<Tensor> run() {
    const std::int64_t seen = tiles_ * tile_patches(vision_);
    const std::int64_t values = 3 * squared(vision_.dimension("patch_size", 14));
    const Tensor pixel_values = ops_.make(seen, values);
    Tensor hidden = embed(seen, values);
    hidden = layer(hidden);
    hidden = ops_.layer_norm(hidden);
    hidden = adapt(hidden, seen);
    return {ops_.gathered_column(hidden, ops_.runtime.config.dimension("hidden_size"))};
  }

 private:
  /// Llama4UnfoldConvolution, the class's place, positions and the first norm.
  Tensor embed(std::int64_t seen, std::int64_t values) const {
    Tensor hidden = ops_.make(seen, values);  // unfold
    {
      const Tensor by_patch = ops_.make(seen, values);  // its transposed product copies it
      hidden = ops_.gathered_column(by_patch, hidden_);
    }
    const std::int64_t rows = seen + tiles_;
    hidden = ops_.make(rows, hidden_);  // cat
    hidden = ops_.make(rows, hidden_);  // + positional_embedding
    return ops_.layer_norm(hidden);
  }

  /// All layers hold the same, so one stands for all.
  Tensor layer(const Tensor& input) const {
    Tensor hidden = ops_.layer_norm(input);
    hidden = attention(hidden);
    hidden = ops_.like(input);  // residual + hidden_state
    const Tensor residual = hidden;
    hidden = ops_.layer_norm(hidden);
    hidden = mlp(hidden, inner_, hidden_);
    return ops_.like(hidden);
  }

  /// The rotary embedding multiplies complex numbers of float32.
  Tensor attention(const Tensor& normed) const {
    const std::int64_t rows = normed.size(0), width = hidden_ / ops_.tp;
    const Tensor qkv = ops_.column(normed, 3 * hidden_);
    Tensor query, key;
    {
      const Tensor wide_query = ops_.in_float32(rows, width);
      const Tensor wide_key = ops_.in_float32(rows, width);
      const Tensor turned_query = ops_.in_float32(rows, width);
      const Tensor turned_key = ops_.in_float32(rows, width);
      query = ops_.make(rows, width);
      key = ops_.make(rows, width);
    }
    const Tensor context = ops_.attend(rows, hidden_, heads_);
    return ops_.row(context, hidden_);
  }

  Tensor mlp(const Tensor& x, std::int64_t inner, std::int64_t out) const {
    Tensor wide = ops_.column(x, inner);
    wide = ops_.like(wide);  // GELU
    return ops_.row(wide, out);
  }

  /// Llama4VisionPixelShuffleMLP: two copies shuffle the patches, then a product over tokens.
  Tensor adapt(const Tensor& hidden, std::int64_t seen) const {
    const std::int64_t merged = merged_patches(vision_);
    Tensor shuffled = ops_.make(hidden.size(0) - tiles_, hidden_);
    shuffled = ops_.make(seen / merged, hidden_ * merged);
    const Tensor out = mlp(shuffled, vision_.dimension("projector_input_dim", 4096),
                           vision_.dimension("projector_output_dim", 4096));
    return ops_.like(out);
  }

  EncoderOps ops_;
  Config vision_;
  std::int64_t hidden_, heads_, inner_, tiles_;
};

}  // namespace

std::vector<Modality> llama4_items(const Config& vision, const Config& kwargs) {
  constexpr std::int64_t kMostTiles = 16;  // preprocessor_config.json of Scout and Maverick
  std::int64_t tiles = kwargs.object("images_kwargs").dimension("max_patches", kMostTiles);
  tiles = kwargs.dimension("max_patches", tiles);
  if (tiles > 1) ++tiles;  // the whole image
  const std::int64_t patches = tile_patches(vision);
  return {{"image",
           {.patches = tiles * (patches + 1),
            .tokens = tiles * (patches / merged_patches(vision)),
            .parts = tiles}}};
}

std::vector<Tensor> run_llama4_encoder(const Runtime& runtime, const Encoders& encoders) {
  return Llama4EncoderRun(runtime, encoders).run();
}

}  // namespace memtape::vllm
