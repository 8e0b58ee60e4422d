// SPDX-License-Identifier: Apache-2.0
// M2M-100 and NLLB: mBART's layers over one scaled embedding table and fixed positions, counted
// over the tokens that are no padding; mirroring transformers 5.17
// models/m2m_100/modeling_m2m_100.py.
#include "family/facts.h"
#include "family/losses/loss.h"
#include "family/masks/masking.h"
#include "family/masks/padding_check.h"
#include "family/masks/update_causal_mask.h"
#include "family/parts/bart_layers.h"
#include "family/parts/fairseq_positions.h"
#include "family/parts/shift_tokens.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "nn/layer_stack.h"
#include "release/encoder_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct M2M100Config : BartLayerConfig {
  M2M100Config(const Config& c, const ModelOptions& options)
      : BartLayerConfig(c, options,
                        {.encoder = {},
                         .decoder = {},
                         .attention_dropout = 0.1,
                         .layerdrop = 0.05,
                         .activation_function = "relu"}),
        vocab_size(c.dimension("vocab_size", 128112)),
        max_position_embeddings(c.dimension("max_position_embeddings", 1024)),
        padding_idx(c.integer("pad_token_id", 1)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)) {
    norms_first = true;
    if (d_model % 2 != 0) c.fail("d_model", "must be even");
    if (c.has("pad_token_id") && c.is_null("pad_token_id"))
      c.fail("pad_token_id", "must be an integer: positions are counted with it");
  }

  std::int64_t vocab_size, max_position_embeddings, padding_idx;
  bool tie_word_embeddings;
};

class M2M100SinusoidalPositionalEmbedding : public nn::Module<M2M100SinusoidalPositionalEmbedding> {
 public:
  M2M100SinusoidalPositionalEmbedding(const nn::Scope& scope, const M2M100Config& c)
      : Module(scope), before_first_(c.padding_idx + 1), weights_(get_embedding(c, scope.dtype())) {
    scope.buffer("weights", weights_);
  }

  /// _init_weights computes the table once more and copies it.
  void init_weights(const M2M100Config& c) const {
    const Tensor again = get_embedding(c, weights_.dtype());
  }

  Tensor forward(const Tensor& input_ids) {
    const ghost::GradMode no_grad(false);
    const Tensor position_ids = create_position_ids_from_input_ids(input_ids);
    const std::int64_t max_pos = before_first_ + input_ids.size(1);
    if (max_pos > weights_.size(0)) grow_table(node(), weights_, max_pos + kOffset);
    return select_positions(weights_, position_ids);
  }

 private:
  static constexpr int kOffset = 2;

  static Tensor get_embedding(const M2M100Config& c, DType dtype) {
    return sinusoidal_table(c.max_position_embeddings + kOffset, c.d_model, dtype);
  }

  std::int64_t before_first_;  ///< positions before that of the first token
  Tensor weights_;
};

/// What the encoder and the decoder have in common.
template <class Layer>
class M2M100Stack {
 public:
  M2M100Stack(const nn::Scope& scope, const M2M100Config& c, std::int64_t count)
      : embed_tokens(scope / "embed_tokens", c.vocab_size, c.d_model),
        embed_positions(scope / "embed_positions", c),
        layers(scope / "layers", count, static_cast<const BartLayerConfig&>(c)),
        layer_norm(scope / "layer_norm", c.d_model) {
    embed_positions.init_weights(c);
  }

  BartScaledWordEmbedding embed_tokens;
  M2M100SinusoidalPositionalEmbedding embed_positions;
  nn::ModuleList<Layer> layers;
  nn::LayerNorm layer_norm;
};

class M2M100Encoder : public nn::Module<M2M100Encoder> {
 public:
  M2M100Encoder(const nn::Scope& scope, const M2M100Config& c)
      : Module(scope), config_(c), stack(scope, c, c.encoder.layers) {}

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    if (!given_mask.defined() && !ghost::has(changes::kFairseqModelsCheckNoPadding))
      look_for_padding(input_ids);
    const Tensor inputs_embeds = stack.embed_tokens(input_ids);
    const Tensor embed_pos = stack.embed_positions(input_ids);
    Tensor hidden_states = inputs_embeds.add(embed_pos);
    hidden_states = ghost::dropout(hidden_states, config_.dropout);
    const Tensor attention_mask = create_bidirectional_mask(
        {.attention = config_.attention, .attention_mask = given_mask}, inputs_embeds);
    hidden_states = nn::run_layers(stack.layers, std::move(hidden_states), 1,
                                   [&](BartEncoderLayer& layer, std::size_t, const Tensor& x) {
                                     return layer(x, attention_mask);
                                   });
    return stack.layer_norm(hidden_states);
  }

 private:
  M2M100Config config_;

 public:
  M2M100Stack<BartEncoderLayer> stack;
};

class M2M100Decoder : public nn::Module<M2M100Decoder> {
 public:
  M2M100Decoder(const nn::Scope& scope, const M2M100Config& c)
      : Module(scope), config_(c), stack(scope, c, c.decoder.layers) {}

  Tensor forward(const Tensor& input_ids, const Tensor& encoder_hidden_states,
                 const Tensor& given_encoder_mask) {
    const Tensor inputs_embeds = stack.embed_tokens(input_ids);
    const Tensor attention_mask = causal_mask(input_ids, inputs_embeds);
    const Tensor encoder_attention_mask = create_bidirectional_mask(
        {.attention = config_.attention, .attention_mask = given_encoder_mask}, inputs_embeds,
        encoder_hidden_states);
    const Tensor positions = stack.embed_positions(input_ids);
    Tensor hidden_states = inputs_embeds.add(positions);
    hidden_states = ghost::dropout(hidden_states, config_.dropout);
    for (BartDecoderLayer& decoder_layer : stack.layers)
      hidden_states = decoder_layer(hidden_states, attention_mask, encoder_hidden_states,
                                    encoder_attention_mask);
    return stack.layer_norm(hidden_states);
  }

 private:
  /// Before kBartLeavesHeads only eager attention had one.
  Tensor causal_mask(const Tensor& input_ids, const Tensor& inputs_embeds) const {
    if (!ghost::has(changes::kBartLeavesHeads))
      return config_.attention == AttentionImplementation::eager
                 ? prepare_4d_causal_attention_mask({}, inputs_embeds)
                 : Tensor();
    const Tensor given = ghost::ones(input_ids.sizes(), DType::float32);
    return create_causal_mask({.attention = config_.attention,
                               .attention_mask = given,
                               .shared_since = changes::kBartMasksAreShared},
                              inputs_embeds, {});
  }

  M2M100Config config_;

 public:
  M2M100Stack<BartDecoderLayer> stack;
};

class M2M100ForConditionalGeneration : public PretrainedModel {
 public:
  M2M100ForConditionalGeneration(const M2M100Config& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        model_(root() / "model"),
        shared_(model_ / "shared", c.vocab_size, c.d_model),
        encoder_(model_ / "encoder", c),
        decoder_(model_ / "decoder", c),
        lm_head_(tied(c) / "lm_head", c.d_model, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, shared_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor decoder_input_ids = shift_tokens_right(batch.labels);
    const Tensor encoder_output = encoder_(batch.input_ids, batch.attention_mask);
    const Tensor decoder_output = decoder_(decoder_input_ids, encoder_output, batch.attention_mask);
    Tensor lm_logits = lm_head_(decoder_output);
    Tensor loss = masked_lm_loss(lm_logits, batch, vocab_size_);
    return {std::move(loss), std::move(lm_logits), encoder_output};
  }

 private:
  /// M2M100Model's tables are tied as soon as it is made.
  nn::Scope tied(const M2M100Config& c) {
    if (c.tie_word_embeddings) {
      nn::tie(decoder_.stack.embed_tokens, shared_.weight);
      nn::tie(encoder_.stack.embed_tokens, shared_.weight);
    }
    return root();
  }

  std::int64_t vocab_size_;
  nn::Scope model_;
  BartScaledWordEmbedding shared_;
  M2M100Encoder encoder_;
  M2M100Decoder decoder_;
  nn::Linear lm_head_;
};

ModelPointer build_m2m_100(const Config& c, const ModelOptions& options) {
  return build_checked<M2M100ForConditionalGeneration>(c, M2M100Config(c, options), options);
}

}  // namespace

extern const FamilyFacts kM2m100{.model_type = "m2m_100",
                                 .task = Task::seq2seq_lm,
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .modeling = kEncoder,
                                 .build = build_m2m_100};

}  // namespace memtape::family
