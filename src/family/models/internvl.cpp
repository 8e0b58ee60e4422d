// SPDX-License-Identifier: Apache-2.0
// InternVL: a vision tower with scaled branches, neighbouring patches joined, a projector of a norm
// and two layers, and a language model; mirroring transformers 5.17
// models/internvl/modeling_internvl.py.
#include <optional>
#include <string>

#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/image_sizes.h"
#include "family/parts/image_text_to_text.h"
#include "family/parts/text_model.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "nn/convolution.h"

namespace memtape::family {
namespace {

struct InternVLVisionConfig {
  explicit InternVLVisionConfig(const Config& c)
      : hidden_size(c.dimension("hidden_size", 1024)),
        num_hidden_layers(c.layers("num_hidden_layers", 24)),
        intermediate_size(c.dimension("intermediate_size", 4096)),
        num_channels(c.dimension("num_channels", 3)),
        image(image_sides(c, "image_size", 448)),
        patch(image_sides(c, "patch_size", 14)),
        attention_bias(c.boolean("attention_bias", false)),
        use_qk_norm(c.boolean("use_qk_norm", false)),
        norms_by_square(c.text("norm_type", "layer_norm") == "rms_norm"),
        use_mask_token(c.boolean("use_mask_token", false)),
        use_absolute_position_embeddings(c.boolean("use_absolute_position_embeddings", true)),
        use_mean_pooling(c.boolean("use_mean_pooling", true)) {
    const std::string norm_type = c.text("norm_type", "layer_norm");
    if (norm_type != "layer_norm" && norm_type != "rms_norm")
      c.fail("norm_type", "unknown norm \"" + norm_type + "\", use layer_norm or rms_norm");
    check_divides(c, "num_attention_heads", c.dimension("num_attention_heads", 16), hidden_size);
  }

  std::int64_t num_patches() const {
    return (image.height / patch.height) * (image.width / patch.width);
  }

  std::int64_t hidden_size, num_hidden_layers, intermediate_size, num_channels;
  ImageSides image, patch;
  bool attention_bias, use_qk_norm, norms_by_square, use_mask_token,
      use_absolute_position_embeddings, use_mean_pooling;
};

class InternVLVisionEmbeddings {
 public:
  InternVLVisionEmbeddings(const nn::Scope& scope, const InternVLVisionConfig& c)
      : cls_token_(scope.parameter("cls_token", {1, 1, c.hidden_size})),
        mask_token_(c.use_mask_token ? scope.parameter("mask_token", {1, 1, c.hidden_size})
                                     : Tensor()),
        projection_(scope / "patch_embeddings" / "projection",
                    Dims{c.hidden_size, c.num_channels, c.patch.height, c.patch.width}, true),
        position_embeddings_(
            c.use_absolute_position_embeddings
                ? scope.parameter("position_embeddings", {1, c.num_patches() + 1, c.hidden_size})
                : Tensor()) {}

 private:
  Tensor cls_token_, mask_token_;
  nn::Convolution projection_;
  Tensor position_embeddings_;
};

/// NORM2FN[norm_type]
class InternVLVisionNorm {
 public:
  InternVLVisionNorm(const nn::Scope& scope, const InternVLVisionConfig& c)
      : weight_(scope.parameter("weight", {c.hidden_size})),
        bias_(c.norms_by_square ? Tensor() : scope.parameter("bias", {c.hidden_size})) {}

 private:
  Tensor weight_, bias_;
};

class InternVLVisionAttention {
 public:
  InternVLVisionAttention(const nn::Scope& scope, const InternVLVisionConfig& c)
      : q_proj_(scope / "q_proj", c.hidden_size, c.hidden_size, c.attention_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.hidden_size, c.attention_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.hidden_size, c.attention_bias),
        projection_layer_(scope / "projection_layer", c.hidden_size, c.hidden_size) {
    if (!c.use_qk_norm) return;
    q_norm_.emplace(scope / "q_norm", c.hidden_size);
    k_norm_.emplace(scope / "k_norm", c.hidden_size);
  }

 private:
  nn::Linear q_proj_, k_proj_, v_proj_, projection_layer_;
  std::optional<LlamaRMSNorm> q_norm_, k_norm_;
};

class InternVLVisionLayer {
 public:
  InternVLVisionLayer(const nn::Scope& scope, const InternVLVisionConfig& c)
      : attention_(scope / "attention", c),
        fc1_(scope / "mlp" / "fc1", c.hidden_size, c.intermediate_size),
        fc2_(scope / "mlp" / "fc2", c.intermediate_size, c.hidden_size),
        layernorm_before_(scope / "layernorm_before", c),
        layernorm_after_(scope / "layernorm_after", c),
        lambda_1_(scaled_ones(scope, "lambda_1", c)),
        lambda_2_(scaled_ones(scope, "lambda_2", c)) {}

 private:
  /// init_values * torch.ones(hidden_size)
  static Tensor scaled_ones(const nn::Scope& scope, const char* name,
                            const InternVLVisionConfig& c) {
    const Tensor ones = ghost::ones({c.hidden_size}, scope.dtype());
    return scope.parameter(name, {c.hidden_size});
  }

  InternVLVisionAttention attention_;
  nn::Linear fc1_, fc2_;
  InternVLVisionNorm layernorm_before_, layernorm_after_;
  Tensor lambda_1_, lambda_2_;
};

/// InternVLVisionModel.
class InternVLVisionTower {
 public:
  InternVLVisionTower(const nn::Scope& scope, const InternVLVisionConfig& c)
      : embeddings_(scope / "embeddings", c),
        layer_(scope / "encoder" / "layer", c.num_hidden_layers, c) {
    if (!c.use_mean_pooling) layernorm_.emplace(scope / "layernorm", c.hidden_size);
  }

 private:
  InternVLVisionEmbeddings embeddings_;
  nn::ModuleList<InternVLVisionLayer> layer_;
  std::optional<nn::LayerNorm> layernorm_;
};

/// vision_tower and multi_modal_projector of InternVLModel.
class InternVLVision {
 public:
  struct Settings {
    InternVLVisionConfig tower;
    std::int64_t joined_size, text_hidden_size;
  };

  InternVLVision(const nn::Scope& scope, const Settings& c)
      : vision_tower_(scope / "vision_tower", c.tower),
        multi_modal_projector_(scope / "multi_modal_projector"),
        layer_norm_(multi_modal_projector_ / "layer_norm", c.joined_size),
        linear_1_(multi_modal_projector_ / "linear_1", c.joined_size, c.text_hidden_size),
        linear_2_(multi_modal_projector_ / "linear_2", c.text_hidden_size, c.text_hidden_size) {}

 private:
  InternVLVisionTower vision_tower_;
  nn::Scope multi_modal_projector_;
  nn::LayerNorm layer_norm_;
  nn::Linear linear_1_, linear_2_;
};

/// int(1 / downsample_ratio), patches to a side that are joined.
std::int64_t joined_patches(const Config& c) {
  const double ratio = c.number("downsample_ratio", 0.5);
  if (ratio > 0.01 && ratio <= 1.0) return static_cast<std::int64_t>(1.0 / ratio);
  c.fail("downsample_ratio", "must be more than 0.01 and at most 1");
  return 1;
}

ModelPointer build_internvl(const Config& c, const ModelOptions& options) {
  return with_text_model(c, options, "qwen2", [&]<class Parts>(DecoderConfig text) {
    using InternVL = ImageTextToText<InternVLVision, DecoderModel<Parts>>;
    const InternVLVisionConfig tower(c.object("vision_config"));
    const std::int64_t joined = joined_patches(c);
    text.tie_word_embeddings =
        ties_head(c.boolean("tie_word_embeddings", true), text.tie_word_embeddings);
    const typename InternVL::Settings config{
        .vision = {.tower = tower,
                   .joined_size = tower.hidden_size * joined * joined,
                   .text_hidden_size = text.hidden_size},
        .text = text,
        .use_cache = c.object("text_config").boolean("use_cache", true)};
    return build_checked<InternVL>(c, config, options);
  });
}

}  // namespace

extern const FamilyFacts kInternvl{.model_type = "internvl",
                                   .task = Task::image_text_to_text,
                                   .first = {4, 52, 0},
                                   .ties_head = Known::yes,
                                   .has_bos = Known::no,
                                   .modeling = kDecoder,
                                   .build = build_internvl};

}  // namespace memtape::family
