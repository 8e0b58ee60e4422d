// SPDX-License-Identifier: Apache-2.0
// Inkling 2 on text, alone and with its tower of images: layers whose inputs are attended out of the
// sums of earlier blocks, also where the middle ones run several times; mirroring transformers 5.24
// models/inkling2/modular_inkling2.py and models/inkling2_loop/modular_inkling2_loop.py.
#include <utility>

#include "family/facts.h"
#include "family/parts/config_checks.h"
#include "family/parts/decoder.h"
#include "family/parts/inkling2_layer.h"
#include "family/parts/mamba2_mixer.h"
#include "family/parts/text_before_towers.h"
#include "family/parts/tower_modules.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/views.h"

namespace memtape::family {
namespace {

/// get_relative_distance of a pass without a cache.
Tensor relative_distance(std::int64_t length) {
  const Tensor q_positions = ghost::arange(length, DType::int64).add(0.0);
  const Tensor kv_positions = ghost::arange(length, DType::int64).add(0.0);
  return q_positions.unsqueeze(-1).sub(kv_positions.unsqueeze(0));
}

/// What all layers are given.
struct Inkling2Pass {
  LayerMasks masks;
  Tensor full_distance, sliding_distance, position_ids;
  const Tensor& distance(LayerType type) const {
    return type == LayerType::full_attention ? full_distance : sliding_distance;
  }
};

class Inkling2TextModel : public nn::Module<Inkling2TextModel> {
 public:
  Inkling2TextModel(const nn::Scope& scope, const Inkling2Config& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        embed_norm_(nn::Scope(scope.tree(), embed_tokens.node()) / "embed_norm", c.hidden_size) {
    const nn::Scope layers = scope / "layers";
    if (!c.loop) layers_.emplace(layers, c.num_hidden_layers, c);
    norm_.emplace(scope / "norm", c.hidden_size);
    final_input_.emplace(scope / "final_input", c);
    if (!c.loop) return;
    layers_.emplace(layers, c.num_hidden_layers, c);
    message_input_.emplace(scope / "message_input", c);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = embed_norm_(embed_tokens(input_ids));
    Inkling2Pass pass;
    pass.position_ids = position_ids_for(inputs_embeds);
    pass.masks = create_layer_masks(config_, attention_mask, inputs_embeds, pass.position_ids);
    create_recurrent_attention_mask(attention_mask, inputs_embeds.size(1));
    pass.full_distance = relative_distance(inputs_embeds.size(1));
    pass.sliding_distance = relative_distance(inputs_embeds.size(1));

    Tensor hidden_states = inputs_embeds, new_hidden_states;
    Tensor block_states =
        ghost::zeros({inputs_embeds.size(0), inputs_embeds.size(1), 0, inputs_embeds.size(2)},
                     inputs_embeds.dtype());
    const auto run = [&](std::int64_t layer, const Tensor& messages) {
      const LayerType type = config_.layer_type(layer);
      new_hidden_states = (*layers_)[static_cast<std::size_t>(layer)](
          hidden_states, block_states, messages, pass.masks.of(type), pass.distance(type),
          pass.position_ids);
      if (config_.begins_block(layer))
        block_states = ghost::cat({block_states, hidden_states.unsqueeze(-2)}, -2);
      hidden_states = new_hidden_states;
    };
    const Inkling2Loop loop =
        config_.loop.value_or(Inkling2Loop{.start = 0, .end = 0, .passes = 1, .gate_rank = 0});
    for (std::int64_t i = 0; i < loop.start; ++i) run(i, {});
    const Tensor pre_loop_hidden_states = hidden_states, pre_loop_block_states = block_states;
    for (std::int64_t i = loop.start; i < loop.end; ++i) run(i, {});
    Tensor messages, previous_block_states, previous_hidden_states;
    for (std::int64_t pass_index = 1; pass_index < loop.passes; ++pass_index) {
      previous_block_states =
          ghost::strided_slice(block_states, -2, pre_loop_block_states.size(-2) + 1, 1);
      previous_hidden_states = hidden_states;
      hidden_states = pre_loop_hidden_states;
      block_states = pre_loop_block_states;
      for (std::int64_t i = loop.start; i < loop.end; ++i) {
        messages = (*message_input_)(previous_block_states, previous_hidden_states, i - loop.start);
        run(i, messages);
      }
    }
    for (std::int64_t i = loop.end; i < config_.num_hidden_layers; ++i) run(i, {});

    hidden_states = (*final_input_)(block_states, hidden_states)[0];
    return (*norm_)(hidden_states).to(inputs_embeds.dtype());
  }

  nn::Embedding embed_tokens;

 private:
  Inkling2Config config_;
  Olmo2RMSNorm embed_norm_;
  std::optional<nn::ModuleList<Inkling2DecoderLayer>> layers_;
  std::optional<Olmo2RMSNorm> norm_;
  std::optional<Inkling2BlockResidual> final_input_;
  std::optional<Inkling2MessageResidual> message_input_;
};

struct Inkling2Parts : DecoderParts {
  using Settings = Inkling2Config;
  static std::int64_t head_size(const Inkling2Config& c) { return c.unpadded_vocab_size; }
  static void cap_logits(Tensor& logits, const Inkling2Config&) {
    logits = logits.to_float();
    Tensor capped = ghost::tanh(logits.div(2.0)).mul(2.0);
    logits = std::move(capped);
  }
};

struct Inkling2TowerConfig {
  Inkling2TowerConfig(const Config& whole, const Inkling2Config& text)
      : Inkling2TowerConfig(whole.object("vision_config")) {
    const Config c = whole.object("vision_config");
    if (text_hidden_size != text.hidden_size)
      c.fail("text_hidden_size", "must be the text model's hidden_size " +
                                     std::to_string(text.hidden_size) + ", found " +
                                     std::to_string(text_hidden_size));
  }

  std::int64_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_channels,
      patch_size, spatial_merge_size, posemb_grid_size, projection_hidden_dim, text_hidden_size;
  bool projector_bias;

 private:
  explicit Inkling2TowerConfig(const Config& c)
      : hidden_size(c.dimension("hidden_size", 1024)),
        intermediate_size(c.optional_dimension("intermediate_size")
                              .value_or(static_cast<std::int64_t>(static_cast<double>(hidden_size) *
                                                                  c.number("mlp_ratio", 4.0)))),
        num_hidden_layers(c.layers("num_hidden_layers", 23)),
        num_attention_heads(c.dimension("num_attention_heads", 16)),
        num_channels(c.dimension("num_channels", 3)),
        patch_size(c.dimension({"patch_size", "native_patch_size"}, 20)),
        spatial_merge_size(c.dimension({"spatial_merge_size", "adapter_merge_size"}, 2)),
        posemb_grid_size(c.dimension("posemb_grid_size", 32)),
        projection_hidden_dim(c.dimension("projection_hidden_dim", 4096)),
        text_hidden_size(c.dimension("text_hidden_size", 4608)),
        projector_bias(c.boolean("projector_bias", false)) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
  }
};

/// Inkling2VisionModel.
class Inkling2Tower {
 public:
  using Settings = Inkling2TowerConfig;
  Inkling2Tower(const nn::Scope& scope, const Inkling2TowerConfig& c) {
    const nn::Scope tower = scope / "vision_tower";
    make_embeddings(tower / "embeddings", c);
    made_.layer_norm(tower / "pre_layernorm", c.hidden_size);
    made_.rotary(tower / "rotary_emb", c.hidden_size / c.num_attention_heads / 2);
    const nn::Scope layers = tower / "layers";
    for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) make_layer(layers / i, c);
    const nn::Scope merger = tower / "merger";
    made_.linear(merger / "linear_1", c.spatial_merge_size * c.spatial_merge_size * c.hidden_size,
                 c.projection_hidden_dim, c.projector_bias);
    made_.linear(merger / "linear_2", c.projection_hidden_dim, c.text_hidden_size,
                 c.projector_bias);
  }

 private:
  void make_embeddings(const nn::Scope& scope, const Inkling2TowerConfig& c) {
    made_.linear(scope / "patch_embedding", c.num_channels * c.patch_size * c.patch_size,
                 c.hidden_size, false);
    made_.embedding(scope / "position_embedding", c.posemb_grid_size * c.posemb_grid_size,
                    c.hidden_size);
    scope.parameter("class_embedding", {c.hidden_size});
    scope.parameter("cls_position_embedding", {c.hidden_size});
  }
  void make_layer(const nn::Scope& scope, const Inkling2TowerConfig& c) {
    const nn::Scope attention = scope / "self_attn", mlp = scope / "mlp";
    for (const char* name : {"k_proj", "v_proj", "q_proj", "out_proj"})
      made_.linear(attention / name, c.hidden_size, c.hidden_size, true);
    made_.linear(mlp / "fc1", c.hidden_size, c.intermediate_size, true);
    made_.linear(mlp / "fc2", c.intermediate_size, c.hidden_size, true);
    made_.layer_norm(scope / "layernorm_before", c.hidden_size);
    made_.layer_norm(scope / "layernorm_after", c.hidden_size);
    scope.parameter("lambda_1", {c.hidden_size});
    scope.parameter("lambda_2", {c.hidden_size});
  }

  TowerModules made_;
};

ModelPointer build_whole(const Config& c, const Inkling2Config& text, const ModelOptions& options) {
  return build_text_before_towers<Inkling2Parts, Inkling2TextModel, Inkling2Tower>(
      c, text, Inkling2TowerConfig(c, text), false, options);
}

ModelPointer build_inkling2(const Config& c, const ModelOptions& options) {
  return build_whole(c, Inkling2Config::of_text(c.object("text_config"), options), options);
}

ModelPointer build_inkling2_loop(const Config& c, const ModelOptions& options) {
  return build_whole(c, Inkling2Config::of_loop(c.object("text_config"), options), options);
}

ModelPointer build(const Config& c, const Inkling2Config& config, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Inkling2Parts, Inkling2TextModel>>(c, config, options);
}

ModelPointer build_inkling2_text(const Config& c, const ModelOptions& options) {
  return build(c, Inkling2Config::of_text(c, options), options);
}

ModelPointer build_inkling2_loop_text(const Config& c, const ModelOptions& options) {
  return build(c, Inkling2Config::of_loop(c, options), options);
}

}  // namespace

extern const FamilyFacts kInkling2Text{.model_type = "inkling2_text",
                                       .first = {5, 23, 0},
                                       .ties_head = Known::no,
                                       .has_bos = Known::no,
                                       .modeling = eager_only(with_convolutions(kDecoder)),
                                       .build = build_inkling2_text};

extern const FamilyFacts kInkling2LoopText{.model_type = "inkling2_loop_text",
                                           .first = {5, 24, 0},
                                           .ties_head = Known::no,
                                           .has_bos = Known::no,
                                           .modeling = eager_only(with_convolutions(kDecoder)),
                                           .build = build_inkling2_loop_text};

extern const FamilyFacts kInkling2{.model_type = "inkling2",
                                   .task = Task::image_text_to_text,
                                   .first = {5, 23, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::no,
                                   .modeling = eager_only(with_convolutions(kDecoder)),
                                   .build = build_inkling2};

extern const FamilyFacts kInkling2Loop{.model_type = "inkling2_loop",
                                       .task = Task::image_text_to_text,
                                       .first = {5, 24, 0},
                                       .ties_head = Known::no,
                                       .has_bos = Known::no,
                                       .modeling = eager_only(with_convolutions(kDecoder)),
                                       .build = build_inkling2_loop};

}  // namespace memtape::family
