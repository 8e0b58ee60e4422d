// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/moonvit_encoder.h"

#include "framework/vllm/models/encoder_ops.h"
#include "framework/vllm/models/tower_maker.h"
#include "framework/vllm/models/vision.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// Sizes of the tower. Kimi K2.5 writes vt_ before them.
struct MoonVitTower {
  explicit MoonVitTower(const Config& c) {
    hidden = c.dimension({"vt_hidden_size", "hidden_size"}, 1152);
    inner = c.dimension({"vt_intermediate_size", "intermediate_size"}, 4304);
    heads = c.dimension({"vt_num_attention_heads", "num_attention_heads"}, 16);
    layers = c.dimension({"vt_num_hidden_layers", "num_hidden_layers"}, 27);
    patch_values = 3 * squared(c.dimension("patch_size", 14));
    positions = c.dimension("init_pos_emb_height", 64) * c.dimension("init_pos_emb_width", 64);
    for (const std::int64_t side : c.integers("merge_kernel_size")) merged *= side;
    if (c.integers("merge_kernel_size").empty()) merged = 4;
  }
  std::int64_t hidden, inner, heads, layers, patch_values, positions, merged = 1;
};

class MoonVitRun {
 public:
  MoonVitRun(const Runtime& runtime, const Encoders& encoders)
      : ops_(runtime),
        tower_(runtime.config.object("vision_config")),
        patches_(encoders.items * encoders.item.patches) {}

  std::vector<Tensor> run() {
    const Tensor pixel_values = ops_.make(patches_, tower_.patch_values);
    const Tensor frequencies = ops_.in_float32(patches_, tower_.hidden / tower_.heads);
    Tensor hidden = embed();
    hidden = layer(hidden);
    hidden = ops_.layer_norm(hidden);
    const Tensor pooled = ops_.like(hidden);  // over the frames of a chunk, one of an image
    const Tensor merged = ops_.like(hidden);
    return {project()};
  }

 private:
  Tensor embed() const {
    Tensor patches;
    {
      const Tensor unfolded = ops_.make(patches_, tower_.patch_values);
      patches = ops_.make(patches_, tower_.hidden, "encoder_linear");
    }
    const Tensor positions = ops_.make(patches_, tower_.hidden);
    return ops_.like(patches);
  }

  /// All layers hold the same, so one stands for all. Queries and keys are rotated in place.
  Tensor layer(const Tensor& input) const {
    Tensor hidden = ops_.layer_norm(input);
    hidden = attention(hidden);
    hidden = ops_.like(input);
    const Tensor residual = hidden;
    hidden = ops_.layer_norm(hidden);
    hidden = mlp(hidden);
    return ops_.like(hidden);
  }

  Tensor attention(const Tensor& x) const {
    const Tensor qkv = ops_.column(x, 3 * tower_.hidden);
    const Tensor context = ops_.attend(patches_, tower_.hidden, tower_.heads);
    return ops_.row(context, tower_.hidden);
  }

  Tensor mlp(const Tensor& x) const {
    Tensor inner = ops_.column(x, tower_.inner);
    inner = ops_.like(inner);  // GELU
    return ops_.row(inner, tower_.hidden);
  }

  Tensor project() const {
    const std::int64_t tokens = patches_ / tower_.merged, width = tower_.hidden * tower_.merged;
    const Tensor joined = ops_.make(patches_, tower_.hidden);
    const Tensor normed = ops_.layer_norm(joined);
    Tensor inner = ops_.make(tokens, width, "encoder_linear");
    inner = ops_.like(inner);
    return ops_.make(tokens, ops_.runtime.config.dimension("hidden_size"), "encoder_linear");
  }

  EncoderOps ops_;
  MoonVitTower tower_;
  std::int64_t patches_;
};

}  // namespace

bool is_moonvit(const Config& vision) {
  return type_of(vision) == "moonvit" || vision.has("vt_hidden_size");
}

std::int64_t most_moonvit_patches(const Config& vision) {
  return vision.has("vt_hidden_size") ? 16384 : 4096;
}

std::vector<Modality> moonvit_items(const Config& vision) {
  const std::int64_t patches = most_moonvit_patches(vision);
  const char* const kind = vision.has("vt_hidden_size") ? "vision_chunk" : "image";
  return {{kind, {.patches = patches, .tokens = patches / MoonVitTower(vision).merged}}};
}

void make_moonvit_tower(const Place& place) {
  const MoonVitTower t(place.config().object("vision_config"));
  TowerMaker maker(place);
  maker.tower({.layers = t.layers,
               .hidden = t.hidden,
               .intermediate = t.inner,
               .patch_values = t.patch_values,
               .positions = t.positions,
               .patch_bias = true});
  const std::int64_t width = t.hidden * t.merged;
  maker.norm(t.hidden, true);
  maker.matrix(width, width);
  maker.matrix(place.config().dimension("hidden_size"), width);
}

std::vector<Tensor> run_moonvit_encoder(const Runtime& runtime, const Encoders& encoders) {
  return MoonVitRun(runtime, encoders).run();
}

}  // namespace memtape::vllm
