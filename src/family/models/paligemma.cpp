// SPDX-License-Identifier: Apache-2.0
// PaliGemma and PaliGemma 2: SigLIP's tower, one projection, and Gemma or Gemma 2 with positions
// that begin at 1; mirroring transformers 5.17 models/paligemma/modeling_paligemma.py.
#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "family/facts.h"
#include "family/models/gemma.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/siglip_tower.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/session.h"
#include "release/family_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

/// _update_causal_mask of PaliGemma, for whatever attention: as many columns as a tensor on the
/// device says, one more than there are keys.
LayerMasks own_mask(const Tensor& inputs_embeds, const Tensor& cache_position) {
  const std::int64_t batch = inputs_embeds.size(0), length = inputs_embeds.size(1);
  Tensor target_length = ghost::empty({}, DType::int64).add(1);
  target_length = target_length.add(1);
  const Tensor causal_mask = ghost::full({length, length + 1}, inputs_embeds.dtype());
  {
    Tensor hidden;
    {
      const Tensor targets = ghost::arange(length + 1, DType::int64);
      hidden = ghost::gt(targets, cache_position.view({-1, 1}));
    }
  }
  const Tensor rows = causal_mask.unsqueeze(0).unsqueeze(0).expand({batch, 1, length, length + 1});
  const Tensor mask = rows.slice(3, 0, length);
  return {mask, mask};
}

/// PaliGemmaModel makes the masks without a cache; one that is None the language model makes again.
template <class Parts>
struct PaliGemmaParts : Parts {
  using Settings = typename Parts::Settings;

  static Positions positions(const Tensor& inputs_embeds) {
    if (ghost::has(changes::kPaliGemmaMasksAreShared)) {
      const Tensor ids = position_ids_for(inputs_embeds).add(1);
      return {ids, ids};
    }
    Tensor cache_position = position_ids_for(inputs_embeds);
    Tensor position_ids = cache_position.add(1);
    return {std::move(cache_position), std::move(position_ids)};
  }
  static LayerMasks make_masks(const Settings& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    if (!ghost::has(changes::kPaliGemmaMasksAreShared) && !attention_mask.defined() &&
        c.attention != AttentionImplementation::flash)
      return own_mask(inputs_embeds, position_ids);
    LayerMasks masks = without_cache(c, attention_mask, inputs_embeds, position_ids);
    if (!c.masks_by_layer_type && !masks.full_attention.defined())
      masks = Parts::make_masks(c, {}, inputs_embeds, position_ids);
    return masks;
  }

 private:
  static LayerMasks without_cache(const Settings& c, const Tensor& attention_mask,
                                  const Tensor& inputs_embeds, const Tensor& position_ids) {
    const KeyValueCache::Passed none(nullptr);
    return Parts::make_masks(c, attention_mask, inputs_embeds, position_ids);
  }
};

/// vision_tower and multi_modal_projector of PaliGemmaModel.
class PaliGemmaVision {
 public:
  struct Settings {
    SiglipVisionConfig tower;
    std::int64_t projection_dim;
  };

  PaliGemmaVision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        linear_(scope / "multi_modal_projector" / "linear", c.tower.hidden_size, c.projection_dim) {
  }

 private:
  SiglipVisionTower vision_tower_;
  nn::Linear linear_;
};

template <class Parts>
ModelPointer build_over_gemma(const Config& c, const ModelOptions& options,
                              typename Parts::Settings text) {
  using PaliGemma = ImageTextToText<PaliGemmaVision, DecoderModel<PaliGemmaParts<Parts>>>;
  text.tie_word_embeddings =
      ties_head(c.boolean("tie_word_embeddings", true), text.tie_word_embeddings);
  const typename PaliGemma::Settings config{
      .vision = {.tower = SiglipVisionConfig(c.object("vision_config"), options),
                 .projection_dim = c.dimension("projection_dim", 2048)},
      .text = text,
      .use_cache =
          (std::is_same_v<Parts, GemmaParts> || ghost::has(changes::kGemma2CachesInTraining)) &&
          c.object("text_config").boolean("use_cache", true),
      .replaces_image_token =
          c.integer({"image_token_index", "image_token_id"}, 256000) >= text.vocab_size};
  return build_checked<PaliGemma>(c, config, options);
}

ModelPointer build_paligemma(const Config& c, const ModelOptions& options) {
  constexpr std::array<std::string_view, 2> kTypes{"gemma", "gemma2"};
  for (const char* part : {"text_config", "vision_config"})
    if (c.is_null(part)) c.fail(part, "must be given");
  const Config text = c.object("text_config");
  const std::string type = text.text("model_type", kTypes[0]);
  if (type == kTypes[1])
    return build_over_gemma<Gemma2Parts>(c, options, gemma2_config(text, options));
  if (type != kTypes[0])
    c.fail("text_config.model_type",
           "unknown language model \"" + type + "\", " + suggestion(type, kTypes));
  return build_over_gemma<GemmaParts>(c, options, gemma_config(text, options));
}

}  // namespace

extern const FamilyFacts kPaligemma{.model_type = "paligemma",
                                    .task = Task::image_text_to_text,
                                    .ties_head = Known::yes,
                                    .has_bos = Known::yes,
                                    .modeling = kDecoder,
                                    .build = build_paligemma};

}  // namespace memtape::family
