// SPDX-License-Identifier: Apache-2.0
// CLIP with its contrastive loss: a tower for images and one for texts, both projected into one
// space; mirroring transformers 5.17 models/clip/modeling_clip.py.
#include <string>

#include "family/facts.h"
#include "family/masks/masking.h"
#include "family/parts/clip_towers.h"
#include "family/parts/config_checks.h"
#include "family/parts/position_ids.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

struct ClipTextConfig : ClipTowerConfig {
  ClipTextConfig(const Config& c, const ModelOptions& options)
      : ClipTowerConfig(c, options,
                        {.hidden_size = 512, .intermediate_size = 2048, .num_attention_heads = 8}),
        vocab_size(c.dimension("vocab_size", 49408)),
        max_position_embeddings(c.dimension("max_position_embeddings", 77)),
        finds_eos(c.optional_integer("eos_token_id").value_or(49407) != 2) {
    is_causal = true;
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
  }
  std::int64_t vocab_size, max_position_embeddings;
  bool finds_eos;  ///< older configurations take the largest token for it
};

struct ClipConfig {
  ClipConfig(const Config& c, const ModelOptions& options)
      : text(c.object("text_config"), options),
        vision(c.object("vision_config"), options),
        projection_dim(c.dimension("projection_dim", 512)) {
    check_divides(c.object("vision_config"), "num_attention_heads", vision.num_attention_heads,
                  vision.hidden_size);
  }
  ClipTextConfig text;
  ClipVisionConfig vision;
  std::int64_t projection_dim;
};

class ClipTextEmbeddings : public nn::Module<ClipTextEmbeddings> {
 public:
  ClipTextEmbeddings(const nn::Scope& scope, const ClipTextConfig& c)
      : Module(scope),
        token_embedding_(scope / "token_embedding", c.vocab_size, c.hidden_size),
        position_embedding_(scope / "position_embedding", c.max_position_embeddings, c.hidden_size),
        position_ids_(scope, c.max_position_embeddings) {}

  void init_weights() const { position_ids_.init_weights(); }

  Tensor forward(const Tensor& input_ids) {
    if (input_ids.size(1) > position_ids_.count())
      ghost::session().fail(
          {ErrorKind::bad_input, "CLIP's texts are at most max_position_embeddings long",
           "--sequence-length", "give " + std::to_string(position_ids_.count()) + " or less"});
    const Tensor position_ids = position_ids_.first(input_ids.size(1));
    const Tensor inputs_embeds = token_embedding_(input_ids);
    const Tensor position_embeddings = position_embedding_(position_ids);
    return inputs_embeds.add(position_embeddings);
  }

 private:
  nn::Embedding token_embedding_, position_embedding_;
  PositionIds position_ids_;
};

class ClipTextModel : public nn::Module<ClipTextModel> {
 public:
  ClipTextModel(const nn::Scope& scope, const ClipTextConfig& c)
      : Module(scope),
        attention_(c.attention),
        finds_eos_(c.finds_eos),
        embeddings_(scope / "embeddings", c),
        encoder_(scope / "encoder", c),
        final_layer_norm_(scope / "final_layer_norm", c.hidden_size) {
    embeddings_.init_weights();
  }

  ClipTowerOutput forward(const Tensor& input_ids) {
    const Tensor hidden_states = embeddings_(input_ids);
    const Tensor attention_mask =
        create_causal_mask({.attention = attention_, .attention_mask = {}}, hidden_states, {});
    ClipTowerOutput out;
    out.last_hidden_state = encoder_(hidden_states, attention_mask);
    out.last_hidden_state = final_layer_norm_(out.last_hidden_state);
    out.pooler_output = at_end_of_text(out.last_hidden_state, input_ids);
    return out;
  }

 private:
  Tensor at_end_of_text(const Tensor& last_hidden_state, const Tensor& input_ids) const {
    const Tensor rows = ghost::arange(last_hidden_state.size(0), DType::int64);
    Tensor tokens = input_ids.to(DType::int32);
    if (finds_eos_) {
      tokens = ghost::eq(std::move(tokens), ghost::kTokenId);
      tokens = std::move(tokens).to(DType::int32);
    }
    const Tensor places = ghost::argmax(std::move(tokens));
    return ghost::index_pairs(last_hidden_state, rows, places);
  }

  AttentionImplementation attention_;
  bool finds_eos_;
  ClipTextEmbeddings embeddings_;
  ClipEncoder encoder_;
  nn::LayerNorm final_layer_norm_;
};

/// _get_vector_norm.
Tensor vector_norm(const Tensor& tensor) {
  const Tensor square_tensor = tensor.pow(2);
  const Tensor sum_tensor = square_tensor.sum(-1, true);
  return sum_tensor.pow(0.5);
}

Tensor contrastive_loss(const Tensor& logits) {
  const Tensor places = ghost::arange(logits.size(0), DType::int64);
  return ghost::cross_entropy(logits, places);
}

Tensor image_text_contrastive_loss(const Tensor& similarity) {
  const Tensor caption_loss = contrastive_loss(similarity);
  const Tensor image_loss = contrastive_loss(similarity.t());
  return caption_loss.add(image_loss).div(2.0);
}

class ClipModel : public PretrainedModel {
 public:
  ClipModel(const ClipConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        config_(c),
        text_model_(root() / "text_model", c.text),
        vision_model_(root() / "vision_model", c.vision),
        visual_projection_(root() / "visual_projection", c.vision.hidden_size, c.projection_dim,
                           false),
        text_projection_(root() / "text_projection", c.text.hidden_size, c.projection_dim, false),
        logit_scale_(root().parameter("logit_scale", {})) {}

  std::string_view output_embeddings() const override { return {}; }

  SampleSizes sample_sizes(std::int64_t sequence_length) const override {
    const ClipVisionConfig& vision = config_.vision;
    return {.pixel_values = Dims{vision.num_channels, vision.image_size, vision.image_size},
            .input_features = {},
            .input_ids = Dims{sequence_length},
            .labels = {}};
  }

  ModelOutput forward(const Batch& batch) override {
    const ClipTowerOutput vision_outputs =
        projected(vision_model_(batch.pixel_values), visual_projection_);
    const ClipTowerOutput text_outputs = projected(text_model_(batch.input_ids), text_projection_);
    Tensor image_embeds = vision_outputs.pooler_output;
    Tensor text_embeds = text_outputs.pooler_output;
    image_embeds = image_embeds.div(vector_norm(image_embeds));
    text_embeds = text_embeds.div(vector_norm(text_embeds));
    Tensor logits_per_text = text_embeds.matmul(image_embeds.t());
    logits_per_text = logits_per_text.mul(ghost::exp(logit_scale_));
    Tensor loss = image_text_contrastive_loss(logits_per_text);
    return {std::move(loss), std::move(logits_per_text)};
  }

 private:
  static ClipTowerOutput projected(ClipTowerOutput outputs, nn::Linear& projection) {
    const Tensor pooled_output = outputs.pooler_output;
    outputs.pooler_output = projection(pooled_output);
    return outputs;
  }

  ClipConfig config_;
  ClipTextModel text_model_;
  ClipVisionTower vision_model_;
  nn::Linear visual_projection_, text_projection_;
  Tensor logit_scale_;
};

ModelPointer build_clip(const Config& c, const ModelOptions& options) {
  return build_checked<ClipModel>(c, ClipConfig(c, options), options);
}

}  // namespace

extern const FamilyFacts kClip{.model_type = "clip",
                               .text_type = "clip_text_model",
                               .task = Task::zero_shot_image_classification,
                               .ties_head = Known::no,
                               .has_bos = Known::yes,
                               .modeling = kEncoder,
                               .build = build_clip};

}  // namespace memtape::family
