// SPDX-License-Identifier: Apache-2.0
// Mistral 3: a vision tower, neighbouring patches joined, a projector of two layers, and Mistral or
// Ministral 3; mirroring transformers 5.17 models/mistral3/modeling_mistral3.py.
#include <array>

#include "base/text.h"
#include "family/facts.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/image_tower.h"
#include "family/parts/llama_layer.h"
#include "family/parts/ministral3_attention.h"
#include "family/parts/mistral4.h"
#include "release/transformers_5_changes.h"

namespace memtape::family {
namespace {

/// vision_tower and multi_modal_projector of Mistral3Model.
class Mistral3Vision {
 public:
  struct Settings {
    ImageTower::Settings tower;
    std::int64_t feature_layers, spatial_merge_size, text_hidden_size;
    bool projector_bias;
  };

  Mistral3Vision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        multi_modal_projector_(scope / "multi_modal_projector"),
        norm_(multi_modal_projector_ / "norm", hidden_size(c.tower)),
        merging_layer_(multi_modal_projector_ / "patch_merger" / "merging_layer",
                       hidden_size(c.tower) * c.spatial_merge_size * c.spatial_merge_size,
                       hidden_size(c.tower), false),
        linear_1_(multi_modal_projector_ / "linear_1", hidden_size(c.tower) * c.feature_layers,
                  c.text_hidden_size, c.projector_bias),
        linear_2_(multi_modal_projector_ / "linear_2", c.text_hidden_size, c.text_hidden_size,
                  c.projector_bias) {}

 private:
  ImageTower vision_tower_;
  nn::Scope multi_modal_projector_;
  LlamaRMSNorm norm_;
  nn::Linear merging_layer_, linear_1_, linear_2_;
};

/// Whether Mistral3Model hands its own configuration's use_cache on, which training unsets, and not
/// None, for which the text model takes its own.
bool hands_use_cache_on() {
  if (ghost::has(changes::kMistral3MergesUseCache)) return true;
  return ghost::has(changes::kMistral3ChecksInputs) &&
         !ghost::has(changes::kMistral3ChecksNoInputs);
}

template <class Parts>
ModelPointer build_with(const Config& c, const ModelOptions& options,
                        typename Parts::Settings text) {
  using Mistral3 = ImageTextToText<Mistral3Vision, DecoderModel<Parts>>;
  text.tie_word_embeddings =
      ties_head(c.boolean("tie_word_embeddings", true), text.tie_word_embeddings);
  const bool text_keeps_cache = c.object("text_config").boolean("use_cache", true);
  const typename Mistral3::Settings config{
      .vision = {.tower = image_tower_settings(c, options, "pixtral"),
                 .feature_layers = vision_feature_layers(c),
                 .spatial_merge_size = c.dimension("spatial_merge_size", 2),
                 .text_hidden_size = text.hidden_size,
                 .projector_bias = c.boolean("multimodal_projector_bias", false)},
      .text = text,
      .use_cache = !hands_use_cache_on() && text_keeps_cache};
  return build_checked<Mistral3>(c, config, options);
}

ModelPointer build_mistral3(const Config& c, const ModelOptions& options) {
  constexpr std::array<std::string_view, 3> kTypes{"mistral", "ministral3", "mistral4"};
  for (const char* part : {"text_config", "vision_config"})
    if (c.is_null(part)) c.fail(part, "must be given");
  const Config text = c.object("text_config");
  const std::string type = text.text("model_type", kTypes[0]);
  if (type == kTypes[1])
    return build_with<Ministral3Parts>(c, options, Ministral3Config(text, options));
  if (type == kTypes[2])
    return build_with<Mistral4Parts>(c, options, Mistral4Config(text, options));
  if (type != kTypes[0])
    c.fail("text_config.model_type",
           "unknown language model \"" + type + "\", " + suggestion(type, kTypes));
  return build_with<LlamaParts>(c, options, mistral_config(text, options));
}

}  // namespace

extern const FamilyFacts kMistral3{.model_type = "mistral3",
                                   .text_type = "mistral4",
                                   .task = Task::image_text_to_text,
                                   .first = {4, 50, 0},
                                   .ties_head = Known::yes,
                                   .has_bos = Known::yes,
                                   .modeling = kDecoder,
                                   .build = build_mistral3};

}  // namespace memtape::family
