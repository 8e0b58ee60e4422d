// SPDX-License-Identifier: Apache-2.0
// LFM2-VL on text: SigLIP 2's tower and a projector of neighbouring patches, which get no
// gradients, and LFM2 with a head; mirroring transformers 5.17 models/lfm2_vl/modular_lfm2_vl.py
// and the constructors of models/siglip2/modeling_siglip2.py.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "family/facts.h"
#include "family/models/lfm2.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/siglip_tower.h"

namespace memtape::family {
namespace {

struct Siglip2VisionConfig : SiglipVisionConfig {
  Siglip2VisionConfig(const Config& c, const ModelOptions& options)
      : SiglipVisionConfig(c, options), num_patches(c.dimension("num_patches", 256)) {}
  std::int64_t num_patches;
};

/// Siglip2VisionModel: patches come flattened, in any number.
class Siglip2VisionTower {
 public:
  Siglip2VisionTower(const nn::Scope& scope, const Siglip2VisionConfig& c)
      : embeddings_(scope / "embeddings"),
        patch_embedding_(embeddings_ / "patch_embedding",
                         c.num_channels * c.patch_size * c.patch_size, c.hidden_size),
        position_embedding_(embeddings_ / "position_embedding", c.num_patches, c.hidden_size),
        encoder_(scope / "encoder", c),
        post_layernorm_(scope / "post_layernorm", c.hidden_size) {
    if (c.vision_use_head) head_.emplace(scope / "head", c);
  }

 private:
  nn::Scope embeddings_;
  nn::Linear patch_embedding_;
  nn::Embedding position_embedding_;
  ClipEncoder encoder_;
  nn::LayerNorm post_layernorm_;
  std::optional<SiglipPoolingHead> head_;
};

/// vision_tower and multi_modal_projector of Lfm2VlModel.
class Lfm2Vision {
 public:
  struct Settings {
    Siglip2VisionConfig tower;
    std::int64_t joined_size, projector_hidden_size, text_hidden_size;
    bool projector_use_layernorm, projector_bias;
  };

  Lfm2Vision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        multi_modal_projector_(scope / "multi_modal_projector") {
    if (c.projector_use_layernorm)
      layer_norm_.emplace(multi_modal_projector_ / "layer_norm", c.joined_size);
    linear_1_.emplace(multi_modal_projector_ / "linear_1", c.joined_size, c.projector_hidden_size,
                      c.projector_bias);
    linear_2_.emplace(multi_modal_projector_ / "linear_2", c.projector_hidden_size,
                      c.text_hidden_size, c.projector_bias);
  }

 private:
  Siglip2VisionTower vision_tower_;
  nn::Scope multi_modal_projector_;
  std::optional<nn::LayerNorm> layer_norm_;
  std::optional<nn::Linear> linear_1_, linear_2_;
};

using Lfm2Vl = ImageTextToText<Lfm2Vision, HybridModel<Lfm2Parts>>;

void check_type(const Config& c, std::string_view part, std::string_view type) {
  const std::string found = c.object(part).text("model_type", type);
  const std::array known{type};
  if (found != type)
    c.fail(std::string(part) + ".model_type",
           "unknown type \"" + found + "\", " + suggestion(found, known));
}

ModelPointer build_lfm2_vl(const Config& c, const ModelOptions& options) {
  check_type(c, "vision_config", "siglip2_vision_model");
  check_type(c, "text_config", "lfm2");
  const Config text = c.object("text_config");
  const Siglip2VisionConfig tower(c.object("vision_config"), options);
  const std::int64_t factor = c.dimension("downsample_factor", 2);
  Lfm2Vl::Settings config{
      .vision = {.tower = tower,
                 .joined_size = tower.hidden_size * factor * factor,
                 .projector_hidden_size = c.dimension("projector_hidden_size", 2560),
                 .text_hidden_size = 0,
                 .projector_use_layernorm = c.boolean("projector_use_layernorm", true),
                 .projector_bias = c.boolean("projector_bias", true)},
      .text = Lfm2Config(text, options),
      .use_cache = text.boolean("use_cache", true)};
  config.vision.text_hidden_size = config.text.hidden_size;
  config.text.tie_word_embeddings =
      ties_head(c.boolean("tie_embedding", c.boolean("tie_word_embeddings", true)),
                config.text.tie_word_embeddings);
  return build_checked<Lfm2Vl>(c, config, options);
}

}  // namespace

extern const FamilyFacts kLfm2Vl{.model_type = "lfm2_vl",
                                 .task = Task::image_text_to_text,
                                 .first = {4, 57, 0},
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .modeling = with_convolutions(kDecoder),
                                 .build = build_lfm2_vl};

}  // namespace memtape::family
