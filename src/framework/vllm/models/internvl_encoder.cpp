// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/internvl_encoder.h"

#include <algorithm>
#include <cmath>

#include "framework/vllm/models/encoder_ops.h"
#include "framework/vllm/models/tower_maker.h"
#include "framework/vllm/models/vision.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// A side in pixels: transformers' files say it for rows and columns.
std::int64_t side(const Config& c, const char* key, std::int64_t otherwise) {
  if (!c.json(key).starts_with("[")) return c.dimension(key, otherwise);
  const std::vector<std::int64_t> sides = c.integers(key);
  return sides.empty() ? otherwise : sides.front();
}

/// Sizes of the tower, from its vision_config.
struct InternVlTower {
  explicit InternVlTower(const Config& model) {
    const Config c = model.object("vision_config");
    hidden = c.dimension("hidden_size");
    inner = c.dimension("intermediate_size");
    heads = c.dimension("num_attention_heads");
    layers = c.layers("num_hidden_layers");
    const std::int64_t patch = side(c, "patch_size", 14);
    patch_values = 3 * squared(patch);
    patches = squared(side(c, "image_size", 448) / patch);
    const double ratio = model.number("downsample_ratio", 0.5);
    merged = std::max<std::int64_t>(1, std::llround(1.0 / (ratio * ratio)));
    qkv_bias = c.boolean({"qkv_bias", "attention_bias"}, true);
    norms_heads = c.boolean({"qk_normalization", "use_qk_norm"}, false);
    norm_bias = c.text("norm_type", "layer_norm") != "rms_norm";
  }
  std::int64_t hidden, inner, heads, layers, patch_values, patches, merged;
  bool qkv_bias, norms_heads, norm_bias;
};

class InternVlRun {
 public:
  InternVlRun(const Runtime& runtime, const Encoders& encoders)
      : ops_(runtime), tower_(runtime.config), tiles_(encoders.items * encoders.item.parts) {}

  std::vector<Tensor> run() {
    const std::int64_t seen = tiles_ * tower_.patches;
    const Tensor pixel_values = ops_.make(seen, tower_.patch_values);
    Tensor hidden;
    {
      const Tensor embeddings = embed(seen);
      // All layers hold the same: one for the first, which gets the embeddings, and one for the
      // others, beside which the model still holds them.
      hidden = layer(embeddings);
      hidden = layer(hidden);
    }
    return {project(seen)};  // beside the hidden states
  }

 private:
  Tensor embed(std::int64_t seen) const {
    Tensor patch_embeds;
    {
      const Tensor unfolded = ops_.make(seen, tower_.patch_values);
      patch_embeds = ops_.make(seen, tower_.hidden, "encoder_linear");
    }
    Tensor embeddings = ops_.make(seen + tiles_, tower_.hidden);  // cat with the class's place
    embeddings = ops_.make(seen + tiles_, tower_.hidden);         // + position_embedding
    return embeddings;
  }

  Tensor norm(const Tensor& x) const {
    return tower_.norm_bias ? ops_.layer_norm(x) : ops_.like(x);
  }

  /// x + ls * f(norm(x)), twice.
  Tensor layer(const Tensor& input) const {
    Tensor scaled = ops_.like(attention(norm(input)));
    const Tensor hidden = ops_.like(input);
    scaled = ops_.like(mlp(norm(hidden)));
    return ops_.like(hidden);
  }

  /// Heads that the ranks do not divide are whole on each.
  Tensor attention(const Tensor& x) const {
    const bool is_cut = tower_.heads % ops_.tp == 0;
    const std::int64_t ranks = is_cut ? ops_.tp : 1, rows = x.size(0);
    const Tensor qkv = ops_.make(rows, 3 * tower_.hidden / ranks, "encoder_linear");
    Tensor query, key;
    if (tower_.norms_heads) {
      query = ops_.make(rows, tower_.hidden);
      key = ops_.make(rows, tower_.hidden);
    }
    const Tensor context = ops_.make(rows, tower_.hidden / ranks, "encoder_attention");
    const Tensor sums = ops_.in_float32(rows, tower_.heads / ranks);
    return is_cut ? ops_.row(context, tower_.hidden) : ops_.like(x);
  }

  Tensor mlp(const Tensor& x) const {
    Tensor inner = ops_.column(x, tower_.inner);
    inner = ops_.like(inner);  // GELU
    return ops_.row(inner, tower_.hidden);
  }

  /// pixel_shuffle, which copies twice, and mlp1.
  Tensor project(std::int64_t seen) const {
    const std::int64_t tokens = seen / tower_.merged, width = tower_.hidden * tower_.merged;
    const std::int64_t out = ops_.runtime.config.dimension("hidden_size");
    Tensor shuffled = ops_.make(tokens, width);
    shuffled = ops_.make(tokens, width);
    const Tensor normed = ops_.layer_norm(shuffled);
    Tensor inner = ops_.make(tokens, out, "encoder_linear");
    inner = ops_.like(inner);
    return ops_.make(tokens, out, "encoder_linear");
  }

  EncoderOps ops_;
  InternVlTower tower_;
  std::int64_t tiles_;
};

/// ctx_video_token: what a tokenizer of Qwen's has; transformers' files always have one.
bool has_video_token(const Config& model) {
  const std::string text =
      type_of(model.object(model.has("llm_config") ? "llm_config" : "text_config"));
  return model.has("text_config") || text.starts_with("qwen");
}

}  // namespace

bool is_internvl(const Config& vision) {
  const std::string type = type_of(vision);
  return type.starts_with("intern_vit") || type == "internvl_vision";
}

std::vector<Modality> internvl_items(const Config& model, const Config& kwargs,
                                     std::int64_t max_model_len) {
  constexpr std::int64_t kMostTiles = 12;
  const InternVlTower tower(model);
  std::int64_t tiles = model.optional_dimension("max_dynamic_patch").value_or(kMostTiles);
  tiles = kwargs.dimension({"max_dynamic_patch", "max_patches"}, tiles);
  if (tiles > 1 && model.boolean("use_thumbnail", true)) ++tiles;
  const std::int64_t tokens = tower.patches / tower.merged;
  const auto item = [&](std::int64_t parts) {
    return EncoderItem{
        .patches = parts * (tower.patches + 1), .tokens = parts * tokens, .parts = parts};
  };
  std::vector<Modality> items{{"image", item(tiles)}};
  if (has_video_token(model))
    items.push_back({"video", item(std::max<std::int64_t>(1, max_model_len / tokens))});
  return items;
}

void make_internvl_tower(const Place& place) {
  const InternVlTower t(place.config());
  TowerMaker maker(place);
  maker.make({t.hidden});
  maker.matrix(t.hidden, t.patch_values);
  maker.make({t.patches + 1, t.hidden});
  const bool is_cut = t.heads % place.runtime().tp() == 0;
  for (std::int64_t i = 0; i < t.layers; ++i) {
    for (int norm = 0; norm < 2; ++norm) maker.norm(t.hidden, t.norm_bias);
    for (int scale = 0; scale < 2; ++scale) maker.make({t.hidden});
    if (is_cut) {
      maker.column(3 * t.hidden, t.hidden, t.qkv_bias);
      maker.row(t.hidden, t.hidden);
    } else {
      maker.matrix(3 * t.hidden, t.hidden, t.qkv_bias);
      maker.matrix(t.hidden, t.hidden);
    }
    if (t.norms_heads)
      for (int norm = 0; norm < 2; ++norm) maker.make({t.hidden});
    maker.column(t.inner, t.hidden);
    maker.row(t.hidden, t.inner);
  }
  const std::int64_t text = place.config().dimension("hidden_size");
  maker.norm(t.hidden * t.merged, true);
  maker.matrix(text, t.hidden * t.merged);
  maker.matrix(text, text);
}

std::vector<Tensor> run_internvl_encoder(const Runtime& runtime, const Encoders& encoders) {
  return InternVlRun(runtime, encoders).run();
}

}  // namespace memtape::vllm
