// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/idefics3_encoder.h"

#include "framework/vllm/models/encoder_ops.h"
#include "framework/vllm/models/tower_maker.h"
#include "framework/vllm/models/vision.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// Sizes of the tower, from its vision_config (Idefics3VisionConfig, SmolVLMVisionConfig).
struct Idefics3Tower {
  explicit Idefics3Tower(const Config& model) {
    const Config c = model.object("vision_config");
    hidden = c.dimension("hidden_size", 1152);
    inner = c.dimension("intermediate_size", 3072);
    heads = c.dimension("num_attention_heads", 16);
    layers = c.layers("num_hidden_layers", 12);
    const std::int64_t patch = c.dimension("patch_size", 32);
    patch_values = 3 * squared(patch);
    patches = squared(c.dimension("image_size", 224) / patch);
    merged = squared(model.dimension("scale_factor", 2));
  }
  std::int64_t hidden, inner, heads, layers, patch_values, patches, merged;
};

class Idefics3Run {
 public:
  Idefics3Run(const Runtime& runtime, const Encoders& encoders)
      : ops_(runtime), tower_(runtime.config), seen_(encoders.items * encoders.item.patches) {}

  std::vector<Tensor> run() {
    const Tensor pixel_values = ops_.make(seen_, tower_.patch_values);
    const Tensor real = ops_.make(seen_, tower_.patch_values);  // without those of padding
    Tensor hidden = embed();
    hidden = layer(hidden);
    hidden = ops_.layer_norm(hidden);
    const std::int64_t tokens = seen_ / tower_.merged, width = tower_.hidden * tower_.merged;
    Tensor shuffled = ops_.make(tokens, width);
    shuffled = ops_.make(tokens, width);
    return {ops_.make(tokens, ops_.runtime.config.dimension("hidden_size"), "encoder_linear")};
  }

 private:
  Tensor embed() const {
    Tensor patch_embeds;
    {
      const Tensor unfolded = ops_.make(seen_, tower_.patch_values);
      patch_embeds = ops_.make(seen_, tower_.hidden, "encoder_linear");
    }
    const Tensor positions = ops_.make(seen_, tower_.hidden);
    return ops_.make(seen_, tower_.hidden);
  }

  /// All layers hold the same, so one stands for all; residuals are added in place.
  Tensor layer(const Tensor& input) const {
    const Tensor hidden = attention(ops_.layer_norm(input));
    Tensor inner = ops_.column(ops_.layer_norm(hidden), tower_.inner);
    inner = ops_.like(inner);  // GELU
    return ops_.row(inner, tower_.hidden);
  }

  Tensor attention(const Tensor& x) const {
    const Tensor qkv = ops_.column(x, 3 * tower_.hidden);
    const Tensor context = ops_.attend(seen_, tower_.hidden, tower_.heads);
    return ops_.row(context, tower_.hidden);
  }

  EncoderOps ops_;
  Idefics3Tower tower_;
  std::int64_t seen_;
};

}  // namespace

bool is_idefics3(const Config& vision) {
  const std::string type = type_of(vision);
  return type == "idefics3_vision" || type == "smolvlm_vision";
}

std::vector<Modality> idefics3_items(const Config& model) {
  constexpr std::int64_t kTiles = 4 * 4 + 1;
  const Idefics3Tower tower(model);
  return {{"image",
           {.patches = kTiles * tower.patches,
            .tokens = kTiles * (tower.patches / tower.merged),
            .parts = kTiles}}};
}

void make_idefics3_tower(const Place& place) {
  const Idefics3Tower t(place.config());
  TowerMaker maker(place);
  maker.tower({.layers = t.layers,
               .hidden = t.hidden,
               .intermediate = t.inner,
               .patch_values = t.patch_values,
               .positions = t.patches,
               .patch_bias = true});
  maker.make({place.config().dimension("hidden_size"), t.hidden * t.merged});
}

std::vector<Tensor> run_idefics3_encoder(const Runtime& runtime, const Encoders& encoders) {
  return Idefics3Run(runtime, encoders).run();
}

}  // namespace memtape::vllm
