// SPDX-License-Identifier: Apache-2.0
// LFM3 alone, and with its tower of images: mirroring transformers 5.24 models/lfm3/modular_lfm3.py
// and models/lfm3_vl/modular_lfm3_vl.py.
#include "family/models/lfm3.h"

#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/text_before_towers.h"
#include "family/parts/tower_modules.h"

namespace memtape::family {
namespace {

/// Layers attend, or convolve the grid of patches.
std::optional<LayerType> lfm3_vision_type(std::int64_t layer) {
  if (layer < 2 || layer % 2 == 1) return std::nullopt;
  return LayerType::full_attention;
}

struct Lfm3TowerConfig {
  Lfm3TowerConfig(const Config& whole, std::int64_t text_size)
      : Lfm3TowerConfig(whole, whole.object("vision_config"), text_size) {}

  std::int64_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
      num_key_value_heads, conv_kernel_size, spatial_merge_size, in_channels, patch_size,
      temporal_patch_size, projector_hidden_size, text_hidden_size;
  bool projector_bias;
  MixedLayerTypes types;

 private:
  Lfm3TowerConfig(const Config& whole, const Config& c, std::int64_t text_size)
      : hidden_size(c.dimension("hidden_size", 1024)),
        intermediate_size(c.dimension("intermediate_size", 2560)),
        num_hidden_layers(c.layers("num_hidden_layers", 14)),
        num_attention_heads(c.dimension("num_attention_heads", 16)),
        num_key_value_heads(c.dimension("num_key_value_heads", 8)),
        conv_kernel_size(c.dimension("conv_kernel_size", 3)),
        spatial_merge_size(c.dimension("spatial_merge_size", 2)),
        in_channels(c.dimension("in_channels", 3)),
        patch_size(c.dimension("patch_size", 16)),
        temporal_patch_size(c.dimension("temporal_patch_size", 2)),
        projector_hidden_size(whole.dimension("projector_hidden_size", 4096)),
        text_hidden_size(text_size),
        projector_bias(whole.boolean("projector_bias", true)),
        types(read_mixed_layer_types(c, num_hidden_layers, "conv", lfm3_vision_type)) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
  }
};

/// vision_tower and multi_modal_projector of Lfm3VlModel.
class Lfm3Towers {
 public:
  using Settings = Lfm3TowerConfig;
  Lfm3Towers(const nn::Scope& scope, const Lfm3TowerConfig& c) {
    const nn::Scope tower = scope / "vision_tower";
    const std::int64_t head_dim = c.hidden_size / c.num_attention_heads;
    made_.linear(tower / "patch_embed",
                 c.in_channels * c.temporal_patch_size * c.patch_size * c.patch_size, c.hidden_size,
                 false);
    made_.rotary(tower / "rotary_pos_emb", head_dim / 2);
    made_.rms_norm(tower / "embedding_norm", c.hidden_size);
    const nn::Scope layers = tower / "layers";
    for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) {
      const nn::Scope layer = layers / i;
      if (c.types[static_cast<std::size_t>(i)])
        make_attention(layer / "self_attn", c, head_dim);
      else
        make_convolution(layer / "conv", c);
      make_mlp(layer / "feed_forward", c);
      made_.rms_norm(layer / "operator_norm", c.hidden_size);
      made_.rms_norm(layer / "ffn_norm", c.hidden_size);
    }
    const nn::Scope projector = scope / "multi_modal_projector";
    made_.layer_norm(projector / "layer_norm", c.hidden_size);
    made_.linear(projector / "linear_1",
                 c.hidden_size * c.spatial_merge_size * c.spatial_merge_size,
                 c.projector_hidden_size, c.projector_bias);
    made_.linear(projector / "linear_2", c.projector_hidden_size, c.text_hidden_size,
                 c.projector_bias);
  }

 private:
  void make_attention(const nn::Scope& scope, const Lfm3TowerConfig& c, std::int64_t head_dim) {
    made_.linear(scope / "q_proj", c.hidden_size, c.num_attention_heads * head_dim, false);
    made_.linear(scope / "k_proj", c.hidden_size, c.num_key_value_heads * head_dim, false);
    made_.linear(scope / "v_proj", c.hidden_size, c.num_key_value_heads * head_dim, false);
    made_.linear(scope / "out_proj", c.num_attention_heads * head_dim, c.hidden_size, false);
    made_.rms_norm(scope / "q_norm", head_dim);
    made_.rms_norm(scope / "k_norm", head_dim);
  }
  void make_convolution(const nn::Scope& scope, const Lfm3TowerConfig& c) {
    made_.linear(scope / "in_proj", c.hidden_size, 3 * c.hidden_size, false);
    made_.convolution(scope / "spatial_conv",
                      {c.hidden_size, 1, c.conv_kernel_size, c.conv_kernel_size}, false);
    made_.linear(scope / "out_proj", c.hidden_size, c.hidden_size, false);
  }
  void make_mlp(const nn::Scope& scope, const Lfm3TowerConfig& c) {
    made_.linear(scope / "w1", c.hidden_size, c.intermediate_size, false);
    made_.linear(scope / "w3", c.hidden_size, c.intermediate_size, false);
    made_.linear(scope / "w2", c.intermediate_size, c.hidden_size, false);
  }

  TowerModules made_;
};

ModelPointer build_lfm3(const Config& c, const ModelOptions& options) {
  using Model = DecoderForCausalLM<Lfm3Parts, Lfm3Model>;
  return build_checked<Model>(c, Lfm3Config(c, options), options);
}

ModelPointer build_lfm3_vl(const Config& c, const ModelOptions& options) {
  const Lfm3Config text(c.object("text_config"), options);
  return build_text_before_towers<Lfm3Parts, Lfm3Model, Lfm3Towers>(
      c, text, Lfm3TowerConfig(c, text.hidden_size), true, options);
}

}  // namespace

extern const FamilyFacts kLfm3{.model_type = "lfm3",
                               .first = {5, 23, 0},
                               .ties_head = Known::yes,
                               .has_bos = Known::yes,
                               .modeling = with_convolutions(kDecoder),
                               .build = build_lfm3};

extern const FamilyFacts kLfm3Vl{.model_type = "lfm3_vl",
                                 .task = Task::image_text_to_text,
                                 .first = {5, 23, 0},
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .modeling = with_convolutions(kDecoder),
                                 .build = build_lfm3_vl};

}  // namespace memtape::family
