// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/vision.h"

#include "framework/vllm/models/idefics3_encoder.h"
#include "framework/vllm/models/internvl_encoder.h"
#include "framework/vllm/models/moonvit_encoder.h"
#include "framework/vllm/models/tower_maker.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// CLIP and SigLIP: a table of positions, and with CLIP a place for the class.
Tower encoder(const Config& c, bool clip) {
  const std::int64_t patch = c.dimension("patch_size", 14);
  Tower t{.layers = c.layers("num_hidden_layers"),
          .hidden = c.dimension("hidden_size"),
          .intermediate = c.dimension("intermediate_size"),
          .patch_values = 3 * squared(patch),
          .positions = squared(c.dimension("image_size", 224) / patch) + (clip ? 1 : 0),
          .patch_bias = !clip};
  if (clip) t.norms_around = 1;  // pre_layrnorm; the last one is left out
  return t;
}

/// The last layers whose output nobody reads are not made (vision_feature_layer of LLaVA).
std::int64_t layers_read(const Config& whole, std::int64_t layers) {
  const std::int64_t layer = whole.integer("vision_feature_layer", -2);
  return layer < 0 ? layers + layer + 1 : layer;
}

/// Qwen's towers: patches of several frames, merged by squares into the text model's width.
Tower qwen(const Config& c) {
  return {.layers = c.layers("depth"),
          .hidden = c.dimension({"embed_dim", "hidden_size"}),
          .patch_values = c.dimension({"in_channels", "in_chans"}, 3) *
                          c.dimension("temporal_patch_size", 2) *
                          squared(c.dimension("patch_size", 14)),
          .norms_around = 0};
}

void merger(TowerMaker& maker, std::int64_t norm_width, std::int64_t merged, std::int64_t out,
            bool norm_bias) {
  maker.norm(norm_width, norm_bias);
  maker.column(merged, merged);
  maker.row(out, merged);
}

void qwen2_vl(TowerMaker& maker, const Config& c) {
  Tower t = qwen(c);
  t.intermediate = t.hidden * c.integer("mlp_ratio", 4);
  maker.tower(t);
  const std::int64_t merged = t.hidden * squared(c.dimension("spatial_merge_size", 2));
  merger(maker, t.hidden, merged, c.dimension("hidden_size"), true);
}

void qwen2_5_vl(TowerMaker& maker, const Config& c) {
  Tower t = qwen(c);
  t.intermediate = c.dimension("intermediate_size");
  t.norm_bias = false;
  t.gated = true;
  maker.tower(t);
  const std::int64_t merged = t.hidden * squared(c.dimension("spatial_merge_size", 2));
  merger(maker, t.hidden, merged, c.dimension("out_hidden_size"), false);
}

void qwen3_vl(TowerMaker& maker, const Config& c) {
  Tower t = qwen(c);
  t.intermediate = c.dimension("intermediate_size");
  t.patch_bias = true;
  t.positions = c.count("num_position_embeddings", 2304);
  maker.tower(t);
  const std::int64_t merged = t.hidden * squared(c.dimension("spatial_merge_size", 2));
  merger(maker, t.hidden, merged, c.dimension("out_hidden_size"), true);
  for (std::size_t i = 0; i < c.integers("deepstack_visual_indexes").size(); ++i)
    merger(maker, merged, merged, c.dimension("out_hidden_size"), true);
}

void gemma3(TowerMaker& maker, const Config& c, const Config& text) {
  const Tower t = encoder(c, false);
  maker.tower(t);
  maker.make({t.hidden, text.dimension("hidden_size")});
  maker.norm(t.hidden, false);
}

/// Pixtral behind Mistral 3: RMS norms, no biases, rotated positions, patches merged by squares.
void pixtral(TowerMaker& maker, const Config& c, const Config& text) {
  const std::int64_t hidden = c.dimension("hidden_size"), inner = c.dimension("intermediate_size");
  maker.matrix(hidden, 3 * squared(c.dimension("patch_size", 14)), false);
  maker.norm(hidden, false);
  for (std::int64_t i = 0, layers = c.layers("num_hidden_layers"); i < layers; ++i) {
    for (int norm = 0; norm < 2; ++norm) maker.norm(hidden, false);
    maker.column(3 * hidden, hidden, false);
    maker.row(hidden, hidden, false);
    maker.column(2 * inner, hidden, false);
    maker.row(hidden, inner, false);
  }
  const std::int64_t width = text.dimension("hidden_size");
  maker.norm(hidden, false);
  maker.matrix(hidden, hidden * squared(text.dimension("spatial_merge_size", 2)), false);
  maker.column(width, hidden, false);
  maker.row(width, width, false);
}

void llava(TowerMaker& maker, const Config& c, const Config& text) {
  Tower t = encoder(c, true);
  t.layers = layers_read(text, t.layers);
  maker.tower(t);
  maker.make({t.hidden});  // class_embedding
  maker.column(text.dimension("hidden_size"), t.hidden);
  maker.row(text.dimension("hidden_size"), text.dimension("hidden_size"));
}

/// transformers' own tower, whole on each rank; gemma4_mm.py adds a projection.
void gemma4(TowerMaker& maker, const Config& c, const Config& text) {
  const std::int64_t hidden = c.dimension("hidden_size", 768),
                     inner = c.dimension("intermediate_size", 3072),
                     head = c.dimension("head_dim", 64),
                     width = head * c.dimension("num_attention_heads", 12),
                     kv = head * c.dimension("num_key_value_heads", 12);
  maker.matrix(hidden, 3 * squared(c.dimension("patch_size", 16)), false);
  maker.make({2, c.dimension("position_embedding_size", 10240), hidden});
  for (std::int64_t i = 0, layers = c.layers("num_hidden_layers", 16); i < layers; ++i) {
    for (const Dims& sizes : {Dims{width, hidden}, Dims{kv, hidden}, Dims{kv, hidden},
                              Dims{hidden, width}, Dims{head}, Dims{head}})
      maker.make(sizes);
    for (const Dims& sizes : {Dims{inner, hidden}, Dims{inner, hidden}, Dims{hidden, inner}})
      maker.make(sizes);
    for (int norm = 0; norm < 4; ++norm) maker.norm(hidden, false);
  }
  if (c.boolean("standardize", false)) maker.norm(hidden, true);
  maker.make({text.dimension("hidden_size"), hidden});
}

/// mllama4.py: patches unfolded, a place for the class, and a projection behind the shuffled patches.
void llama4(TowerMaker& maker, const Config& c, const Config& text) {
  const std::int64_t hidden = c.dimension("hidden_size", 768),
                     inner = c.dimension("intermediate_size", 5632),
                     patch = c.dimension("patch_size", 14);
  maker.column(hidden, 3 * squared(patch), false);
  maker.make({hidden});
  maker.make({squared(c.dimension("image_size", 336) / patch) + 1, hidden});
  for (int norm = 0; norm < 2; ++norm) maker.norm(hidden, true);
  for (std::int64_t i = 0, layers = c.layers("num_hidden_layers", 34); i < layers; ++i) {
    for (int norm = 0; norm < 2; ++norm) maker.norm(hidden, true);
    maker.column(3 * hidden, hidden);
    maker.row(hidden, hidden);
    maker.column(inner, hidden);
    maker.row(hidden, inner);
  }
  const std::int64_t projected = c.dimension("projector_input_dim", 4096),
                     out = c.dimension("projector_output_dim", 4096);
  maker.column(projected, inner, false);
  maker.row(out, projected, false);
  maker.column(text.dimension("hidden_size"), c.dimension("vision_output_dim", out), false);
}

}  // namespace

void make_vision_tower(const Place& place, std::span<const Dims> otherwise) {
  const Config& text = place.config();
  if (!text.has("vision_config")) return;
  const Config c = text.object("vision_config");
  if (c.keys().empty()) return;  // a server of text alone
  const std::string type = type_of(c);
  const std::string whole = type_of(text);
  if (is_internvl(c)) return make_internvl_tower(place);
  if (is_idefics3(c)) return make_idefics3_tower(place);
  if (is_moonvit(c)) return make_moonvit_tower(place);
  TowerMaker maker(place);
  if (type == "siglip_vision_model" && whole.starts_with("gemma3"))
    gemma3(maker, c, text);
  else if (type == "gemma4_vision")
    gemma4(maker, c, text);
  else if (type == "llama4_vision_model")
    llama4(maker, c, text);
  else if (type == "pixtral")
    pixtral(maker, c, text);
  else if (type == "clip_vision_model")
    llava(maker, c, text);
  else if (type.starts_with("qwen2_5_vl") || whole == "qwen2_5_vl")
    qwen2_5_vl(maker, c);
  else if (type.starts_with("qwen2_vl") || whole == "qwen2_vl")
    qwen2_vl(maker, c);
  else if (type.starts_with("qwen3_vl") || type.starts_with("qwen3_5"))
    qwen3_vl(maker, c);
  else
    for (const Dims& sizes : otherwise) maker.make(sizes);
}

}  // namespace memtape::vllm
