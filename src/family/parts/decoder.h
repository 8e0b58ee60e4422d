// SPDX-License-Identifier: Apache-2.0
// The body and the head that most decoder-only families share: LlamaModel and LlamaForCausalLM of
// modeling_llama.py, which the other families' modular_*.py inherit from. A family names its parts
// in a Parts struct:
//
//   struct MistralParts : DecoderParts {
//     using DecoderLayer = LlamaDecoderLayer;  // made with (scope, config, index);
//                                              // forward(x, mask, cos_sin, position_ids)
//     using Norm = LlamaRMSNorm;               // made with (scope, size)
//   };
#pragma once

#include "family/caches/key_value_cache.h"
#include "family/losses/loss.h"
#include "family/masks/masking.h"
#include "family/parts/classifiers.h"
#include "family/parts/decoder_config.h"
#include "family/parts/forward_arguments.h"
#include "family/parts/stage_parts.h"
#include "ghost/ops/creation.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"

namespace memtape::family {

/// The masks that a model makes once and hands to its layers by their type.
struct LayerMasks {
  Tensor full_attention, sliding_attention;
  const Tensor& of(LayerType type) const {
    return type == LayerType::full_attention ? full_attention : sliding_attention;
  }
};

/// Makes one mask for all layers, or a causal_mask_mapping: always a full mask, and a sliding one
/// if a layer slides.
LayerMasks create_layer_masks(const DecoderConfig& config, const Tensor& attention_mask,
                              const Tensor& inputs_embeds, const Tensor& position_ids,
                              const Tensor& block_sequence_ids = {});

/// The positions of the tokens: for masks and layers (may be undefined), and for the rotary
/// embedding.
struct Positions {
  Tensor text, rotary;
};
inline Positions one_axis(const Tensor& position_ids) { return {position_ids, position_ids}; }

/// What a family may change beside its layers.
struct DecoderParts {
  using Settings = DecoderConfig;
  using Embedding = nn::Embedding;  ///< made with (scope, vocabulary, size)
  using Rotary = RotaryEmbedding;   ///< made with (scope, rope(settings))
  static const RopeParameters& rope(const DecoderConfig& c) { return c.rope; }
  /// Layers with equal kind run the same ops, so the repeated ones need not be run
  /// (nn/layer_stack.h).
  static int layer_kind(const DecoderConfig& c, std::size_t layer) {
    return static_cast<int>(c.layer_types[layer]);
  }
  /// Runs right after the embedding.
  static void scale_embeddings(Tensor&, const DecoderConfig&) {}
  /// Makes the input of the first layer, once the masks are made.
  static Tensor enter_layers(const Tensor& inputs_embeds, const DecoderConfig&) {
    return inputs_embeds;
  }
  /// Runs once cos and sin are made.
  static void scale_hidden_states(Tensor&) {}
  /// Whether the last norm also runs before the first layer.
  static constexpr bool kNormsEmbeddings = false;
  /// Whether the model around this one makes the masks, which has no positions yet.
  static bool masks_come_first() { return false; }
  /// Makes the masks of all layers.
  static LayerMasks make_masks(const DecoderConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor& position_ids) {
    return create_layer_masks(c, attention_mask, inputs_embeds, position_ids);
  }
  /// How many tokens the head tells apart.
  static std::int64_t head_size(const DecoderConfig& c) { return c.vocab_size; }
  /// Runs between the head and the loss.
  static void cap_logits(Tensor&, const DecoderConfig&) {}
};

template <class Parts>
class DecoderModel : public nn::Module<DecoderModel<Parts>> {
 public:
  using Settings = typename Parts::Settings;

  DecoderModel(const nn::Scope& scope, const Settings& c)
      : nn::Module<DecoderModel<Parts>>(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        norm_(scope / "norm", c.hidden_size) {
    if (c.own_ropes != OwnRopes::asked) rotary_emb_.emplace(scope / "rotary_emb", Parts::rope(c));
    if constexpr (requires(typename Parts::DecoderLayer& layer) { layer.init_weights(); })
      for (auto& decoder_layer : layers_) decoder_layer.init_weights();
    if (rotary_emb_) rotary_emb_->init_weights();
    if (c.early.masks == EarlyMasks::of_all_positions)
      scope.buffer("causal_mask",
                   ghost::full({c.early.positions, c.early.positions}, DType::boolean));
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    if (config_.early.counts_first) first_counted_ = position_ids_for(input_ids);
    return run(embed_tokens(input_ids), attention_mask, nullptr);
  }

  /// Of tokens that the whole model around this one embedded, whose frame holds the positions that
  /// it counted, too.
  struct Embedded {
    Positions* counted = nullptr;
  };
  Tensor forward(const Tensor& inputs_embeds, const Tensor& attention_mask, Embedded by_whole) {
    return run(inputs_embeds, attention_mask, by_whole.counted);
  }

  /// The modules of a part in the order in which a stage registers them: what comes before and
  /// after its layers, then the rotary embedding.
  std::vector<const nn::ModuleNode*> stage_modules(const StageRange& range, nn::ModuleNode& head) {
    std::vector<const nn::ModuleNode*> modules;
    if (range.embeds) modules.push_back(&embed_tokens.node());
    for (std::int64_t i = range.first_layer; i < range.end_layer; ++i)
      modules.push_back(layers_.nodes()[static_cast<std::size_t>(i)]);
    if (range.has_head) modules.insert(modules.end(), {&norm_.node(), &head});
    if (rotary_emb_) modules.push_back(&rotary_emb_->node());
    return modules;
  }

  /// What a stage computes: hidden states from tokens or hidden states. Each stage counts positions
  /// and makes cos and sin for itself, and masks if attention needs them. In the last stage `head`
  /// makes logits of the hidden states while everything else is still alive.
  template <class Head>
  Tensor forward_stage(const StageRange& range, const Tensor& input, const Head& head) {
    Tensor x = input;
    if (range.embeds) {
      x = embed_tokens(x);
      Parts::scale_embeddings(x, config_);
    }
    const Tensor position_ids = ghost::arange(x.size(1), DType::int64).unsqueeze(0);
    LayerMasks masks;
    if (config_.attention == AttentionImplementation::eager || config_.has_sliding_layers())
      masks = Parts::make_masks(config_, {}, x, position_ids);
    if (range.embeds) x = Parts::enter_layers(x, config_);
    const auto position_embeddings = embed_positions(x, position_ids);
    if (range.embeds) Parts::scale_hidden_states(x);
    if constexpr (Parts::kNormsEmbeddings)
      if (range.embeds) x = norm_(x);
    for (std::int64_t i = range.first_layer; i < range.end_layer; ++i) {
      const LayerType type = config_.layer_type(i);
      x = layers_[static_cast<std::size_t>(i)](x, masks.of(type),
                                               of_layer(position_embeddings, type), position_ids);
    }
    if (!range.has_head) return x;
    x = norm_(x);
    return head(x);
  }

  typename Parts::Embedding embed_tokens;

 private:
  Tensor run(Tensor inputs_embeds, const Tensor& attention_mask, Positions* counted) {
    Parts::scale_embeddings(inputs_embeds, config_);
    Positions positions;
    if (!Parts::masks_come_first()) positions = count_positions(inputs_embeds);
    const LayerMasks masks =
        Parts::make_masks(config_, attention_mask, inputs_embeds, positions.text);
    if (Parts::masks_come_first()) positions = count_positions(inputs_embeds);
    if (counted) counted->rotary = positions.rotary;
    Tensor hidden_states = Parts::enter_layers(inputs_embeds, config_);
    const auto position_embeddings = embed_positions(hidden_states, positions.rotary);
    Parts::scale_hidden_states(hidden_states);
    if constexpr (Parts::kNormsEmbeddings) hidden_states = norm_(hidden_states);
    const auto kind = [this](std::size_t layer) { return Parts::layer_kind(config_, layer); };
    // What a cache keeps of a layer for backward outlives it: then each is run.
    const bool keeps_layers = KeyValueCache::passed() && ghost::session().grad_enabled;
    const std::size_t period = keeps_layers ? 0 : nn::layer_period(layers_.size(), kind);
    hidden_states = nn::run_layers(
        layers_, std::move(hidden_states), period,
        [&](auto& decoder_layer, std::size_t index, const Tensor& x) {
          const LayerType type = config_.layer_type(static_cast<std::int64_t>(index));
          return decoder_layer(x, masks.of(type), of_layer(position_embeddings, type),
                               positions.text);
        });
    return norm_(hidden_states);
  }

  /// A rotary embedding may hold something of the positions.
  Positions count_positions(const Tensor& inputs_embeds) {
    if (const Tensor first = std::exchange(first_counted_, {}); first.defined())
      return {first, first};
    if constexpr (requires { Parts::positions(inputs_embeds, *rotary_emb_); })
      return Parts::positions(inputs_embeds, *rotary_emb_);
    else if constexpr (requires { Parts::positions(inputs_embeds); })
      return Parts::positions(inputs_embeds);
    else
      return one_axis(position_ids_for(inputs_embeds, *config_.positions_added_since));
  }

  /// Returns cos and sin of the positions, or the positions themselves if each attention makes its
  /// own.
  auto embed_positions(const Tensor& x, const Tensor& position_ids) {
    using Embedded = decltype((*rotary_emb_)(x, position_ids));
    if constexpr (std::is_same_v<Embedded, CosSin>)
      if (!rotary_emb_) return CosSin{position_ids, {}};
    return (*rotary_emb_)(x, position_ids);
  }

  Settings config_;
  nn::ModuleList<typename Parts::DecoderLayer> layers_;
  typename Parts::Norm norm_;
  std::optional<typename Parts::Rotary> rotary_emb_;
  Tensor first_counted_;  ///< positions that were counted before the embedding, see EarlyDecoder
};

/// A decoder and its head, as a pipeline cuts them.
template <class Parts, class Model>
class DecoderStages final : public StageParts {
 public:
  DecoderStages(Model& model, nn::Linear& head, const typename Parts::Settings& config)
      : model_(model), head_(head), config_(config) {}

  std::int64_t layers() const override { return config_.num_hidden_layers; }
  nn::Linear& head() override { return head_; }
  const nn::Embedding* embedding() const override { return &model_.embed_tokens; }
  std::vector<const nn::ModuleNode*> modules(const StageRange& range) override {
    if constexpr (kCanBeCut) return model_.stage_modules(range, head_.node());
    return {};
  }
  Tensor forward(const StageRange& range, const Tensor& input) override {
    if constexpr (kCanBeCut) {
      return model_.forward_stage(range, input, [this](const Tensor& hidden_states) {
        Tensor logits = head_(hidden_states);
        Parts::cap_logits(logits, config_);
        return logits;
      });
    }
    return {};
  }
  bool can_be_cut() const override { return kCanBeCut; }

 private:
  static constexpr bool kCanBeCut = std::is_same_v<Model, DecoderModel<Parts>>;
  Model& model_;
  nn::Linear& head_;
  const typename Parts::Settings& config_;
};

template <class Parts, class Model = DecoderModel<Parts>>
class DecoderForCausalLM : public PretrainedModel {
 public:
  using Settings = typename Parts::Settings;

  DecoderForCausalLM(const Settings& config, const ModelOptions& options)
      : PretrainedModel(options),
        config_(config),
        task_(options.task),
        model_(root() / (task_ == Task::question_answering ? "transformer" : "model"), config),
        classifier_(GenericClassifier::made(root(), options)),
        lm_head_(root() / output_embeddings(), config.hidden_size,
                 classifier_ ? classifier_->width() : Parts::head_size(config),
                 classifier_ ? classifier_->has_bias() : config.head_bias) {
    if (config.tie_word_embeddings && !classifier_) nn::tie(lm_head_, model_.embed_tokens.weight);
  }

  Tensor last_hidden_state(const Batch& batch) override {
    return model_(batch.input_ids, batch.attention_mask);
  }
  nn::Projection* head() override { return &lm_head_; }
  std::string_view output_embeddings() const final {
    return classifier_ ? classifier_->name() : "lm_head";
  }
  StageParts* stage_parts() override { return &stages_; }

  SampleSizes sample_sizes(std::int64_t sequence_length) const override {
    return classifier_ ? classifier_sample(task_, sequence_length)
                       : PretrainedModel::sample_sizes(sequence_length);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = last_hidden_state(batch);
    if (classifier_) return (*classifier_)(hidden_states, lm_head_, batch);
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    Parts::cap_logits(logits, config_);
    Tensor loss = causal_lm_loss(logits, batch, Parts::head_size(config_), this->model_type);
    return {std::move(loss), std::move(logits)};
  }
  std::vector<std::int64_t> sliding_windows() const override {
    return family::sliding_windows(config_);
  }

 private:
  Settings config_;
  Task task_;
  Model model_;
  std::optional<GenericClassifier> classifier_;
  nn::Linear lm_head_;
  DecoderStages<Parts, Model> stages_{model_, lm_head_, config_};
};

}  // namespace memtape::family
