// SPDX-License-Identifier: Apache-2.0
// BART and mBART for conditional generation: an encoder and a decoder over one scaled embedding
// table, learned positions, logits with a bias that is a buffer; mirroring transformers 5.17
// models/bart/modeling_bart.py and models/mbart/modeling_mbart.py.
#include <optional>

#include "family/bart_layers.h"
#include "family/families.h"
#include "family/loss.h"
#include "family/masking.h"
#include "family/shift_tokens.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "nn/layer_stack.h"

namespace memtape::family {
namespace {

struct BartConfig : BartLayerConfig {
  BartConfig(const Config& c, const ModelOptions& options, bool is_mbart_)
      : BartLayerConfig(c, options, {}),
        vocab_size(c.dimension("vocab_size", 50265)),
        max_position_embeddings(c.dimension("max_position_embeddings", 1024)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        is_mbart(is_mbart_) {
    norms_first = is_mbart;
    if (c.has("pad_token_id") && c.is_null("pad_token_id"))
      c.fail("pad_token_id", "must be an integer: labels are shifted with it");
  }
  std::int64_t vocab_size, max_position_embeddings;
  bool tie_word_embeddings, is_mbart;
};

/// An embedding times a number, be it 1.
class BartScaledWordEmbedding : public nn::Embedding {
 public:
  using Embedding::Embedding;
  Tensor operator()(const Tensor& input_ids) {
    return nn::Embedding::operator()(input_ids).mul(1.0);
  }
};

/// The first two rows of its table are never used.
class BartLearnedPositionalEmbedding : public nn::Embedding {
 public:
  BartLearnedPositionalEmbedding(const nn::Scope& scope, const BartConfig& c)
      : Embedding(scope, c.max_position_embeddings + kOffset, c.d_model) {}
  Tensor operator()(const Tensor& position_ids) {
    return nn::Embedding::operator()(position_ids.add(kOffset));
  }

 private:
  static constexpr int kOffset = 2;
};

class BartEncoder : public nn::Module<BartEncoder> {
 public:
  BartEncoder(const nn::Scope& scope, const BartConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.d_model),
        attention_(c.attention),
        dropout_(c.dropout),
        embed_positions_(scope / "embed_positions", c),
        layers_(scope / "layers", c.encoder.layers, static_cast<const BartLayerConfig&>(c)),
        layernorm_embedding_(scope / "layernorm_embedding", c.d_model) {
    if (c.is_mbart) layer_norm_.emplace(scope / "layer_norm", c.d_model);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const Tensor embed_pos = positions_of(inputs_embeds);
    Tensor hidden_states = inputs_embeds.add(embed_pos);
    hidden_states = layernorm_embedding_(hidden_states);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    const Tensor attention_mask = create_bidirectional_mask(
        {.attention = attention_, .attention_mask = given_mask}, inputs_embeds);
    hidden_states = nn::run_layers(layers_, std::move(hidden_states), 1,
                                   [&](BartEncoderLayer& layer, std::size_t, const Tensor& x) {
                                     return layer(x, attention_mask);
                                   });
    if (layer_norm_) hidden_states = (*layer_norm_)(hidden_states);
    return hidden_states;
  }

  BartScaledWordEmbedding embed_tokens;

 private:
  /// Positions of all rows: their name goes with embed_positions' frame.
  Tensor positions_of(const Tensor& inputs_embeds) {
    const std::int64_t seq_len = inputs_embeds.size(1);
    const Tensor position_ids =
        ghost::arange(seq_len, DType::int64).expand({inputs_embeds.size(0), seq_len});
    return embed_positions_(position_ids);
  }

  AttentionImplementation attention_;
  double dropout_;
  BartLearnedPositionalEmbedding embed_positions_;
  nn::ModuleList<BartEncoderLayer> layers_;
  nn::LayerNorm layernorm_embedding_;
  std::optional<nn::LayerNorm> layer_norm_;
};

class BartDecoder : public nn::Module<BartDecoder> {
 public:
  BartDecoder(const nn::Scope& scope, const BartConfig& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.d_model),
        attention_(c.attention),
        is_mbart_(c.is_mbart),
        dropout_(c.dropout),
        embed_positions_(scope / "embed_positions", c),
        layers_(scope / "layers", c.decoder.layers, static_cast<const BartLayerConfig&>(c)),
        layernorm_embedding_(scope / "layernorm_embedding", c.d_model) {
    if (c.is_mbart) layer_norm_.emplace(scope / "layer_norm", c.d_model);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& encoder_hidden_states,
                 const Tensor& given_encoder_mask) {
    const Tensor inputs_embeds = embed_tokens(input_ids);
    Tensor position_ids = ghost::arange(inputs_embeds.size(1), DType::int64).add(0);
    Tensor attention_mask = ghost::ones(input_ids.sizes(), DType::float32);
    const Tensor causal_mask = create_causal_mask(
        {.attention = attention_, .attention_mask = attention_mask}, inputs_embeds, {});
    if (!is_mbart_) attention_mask = causal_mask;
    const Tensor encoder_attention_mask =
        create_bidirectional_mask({.attention = attention_, .attention_mask = given_encoder_mask},
                                  inputs_embeds, encoder_hidden_states);
    const Tensor positions = embed_positions_(position_ids.unsqueeze(0));
    if (is_mbart_) position_ids = positions;
    Tensor hidden_states = inputs_embeds.add(positions);
    hidden_states = layernorm_embedding_(hidden_states);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    for (BartDecoderLayer& decoder_layer : layers_)
      hidden_states =
          decoder_layer(hidden_states, causal_mask, encoder_hidden_states, encoder_attention_mask);
    if (layer_norm_) hidden_states = (*layer_norm_)(hidden_states);
    return hidden_states;
  }

  BartScaledWordEmbedding embed_tokens;

 private:
  AttentionImplementation attention_;
  bool is_mbart_;  ///< which names live on differs
  double dropout_;
  BartLearnedPositionalEmbedding embed_positions_;
  nn::ModuleList<BartDecoderLayer> layers_;
  nn::LayerNorm layernorm_embedding_;
  std::optional<nn::LayerNorm> layer_norm_;
};

class BartForConditionalGeneration : public PretrainedModel {
 public:
  BartForConditionalGeneration(const BartConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        is_mbart_(c.is_mbart),
        model_(root() / "model"),
        shared_(model_ / "shared", c.vocab_size, c.d_model),
        encoder_(model_ / "encoder", c),
        decoder_(model_ / "decoder", c),
        final_logits_bias_(tied_then_zeros(c)),
        lm_head_(root() / "lm_head", c.d_model, c.vocab_size, false) {
    root().buffer("final_logits_bias", final_logits_bias_);
    if (c.tie_word_embeddings) nn::tie(lm_head_, shared_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor decoder_input_ids =
        is_mbart_ ? shift_tokens_behind_language(batch.labels) : shift_tokens_right(batch.labels);
    const Tensor encoder_output = encoder_(batch.input_ids, batch.attention_mask);
    const Tensor decoder_output = decoder_(decoder_input_ids, encoder_output, batch.attention_mask);
    Tensor lm_logits = lm_head_(decoder_output);
    lm_logits = lm_logits.add(final_logits_bias_);
    Tensor loss = masked_lm_loss(lm_logits, batch, vocab_size_);
    return {std::move(loss), std::move(lm_logits)};
  }

 private:
  /// BartModel's tables are tied as soon as it is made; the bias comes after it.
  Tensor tied_then_zeros(const BartConfig& c) {
    if (c.tie_word_embeddings) {
      nn::tie(decoder_.embed_tokens, shared_.weight);
      nn::tie(encoder_.embed_tokens, shared_.weight);
    }
    return ghost::zeros({1, c.vocab_size}, tree.dtype());
  }

  std::int64_t vocab_size_;
  bool is_mbart_;
  nn::Scope model_;
  BartScaledWordEmbedding shared_;
  BartEncoder encoder_;
  BartDecoder decoder_;
  Tensor final_logits_bias_;
  nn::Linear lm_head_;
};

}  // namespace

ModelPointer build_bart(const Config& c, const ModelOptions& options) {
  return build_checked<BartForConditionalGeneration>(c, BartConfig(c, options, false), options);
}

ModelPointer build_mbart(const Config& c, const ModelOptions& options) {
  return build_checked<BartForConditionalGeneration>(c, BartConfig(c, options, true), options);
}

}  // namespace memtape::family
