// SPDX-License-Identifier: Apache-2.0
// BART, PLBART, mBART, Pegasus and Marian for conditional generation: an encoder and a decoder over
// one scaled embedding table, learned positions (fixed ones in Pegasus and Marian), logits with a
// bias that is a buffer; mirroring transformers 5.17 models/bart/modeling_bart.py,
// models/plbart/modeling_plbart.py, models/mbart/modeling_mbart.py,
// models/pegasus/modeling_pegasus.py and models/marian/modeling_marian.py.
#include <optional>

#include "family/facts.h"
#include "family/losses/loss.h"
#include "family/masks/masking.h"
#include "family/masks/padding_check.h"
#include "family/masks/update_causal_mask.h"
#include "family/parts/bart_layers.h"
#include "family/parts/shift_tokens.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "nn/layer_stack.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

enum class BartKind { bart, plbart, mbart, pegasus, marian };

BartDefaults defaults_of(BartKind kind) {
  if (kind != BartKind::plbart) return {};
  constexpr BartStack kStack{.layers = 6, .attention_heads = 12, .ffn_dim = 3072};
  return {.d_model = 768, .encoder = kStack, .decoder = kStack, .attention_dropout = 0.1};
}

std::int64_t default_vocab_size(BartKind kind) {
  if (kind == BartKind::marian) return 58101;
  return kind == BartKind::plbart ? 50005 : 50265;
}

struct BartConfig : BartLayerConfig {
  BartConfig(const Config& c, const ModelOptions& options, BartKind which)
      : BartLayerConfig(c, options, defaults_of(which)),
        vocab_size(c.dimension("vocab_size", default_vocab_size(which))),
        max_position_embeddings(c.dimension("max_position_embeddings", 1024)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        kind(which) {
    norms_first = kind == BartKind::mbart || kind == BartKind::pegasus;
    if (kind == BartKind::marian) check_one_table(c);
    if (c.has("pad_token_id") && c.is_null("pad_token_id"))
      c.fail("pad_token_id", "must be an integer: labels are shifted with it");
  }
  /// Positions are a table of sines, and no norm follows the embeddings.
  bool has_fixed_positions() const { return kind == BartKind::pegasus || kind == BartKind::marian; }

  std::int64_t vocab_size, max_position_embeddings;
  bool tie_word_embeddings;
  BartKind kind;

 private:
  void check_one_table(const Config& c) const {
    if (!c.boolean("share_encoder_decoder_embeddings", true))
      c.fail("share_encoder_decoder_embeddings", "must be true: two tables are not modelled");
    if (c.dimension("decoder_vocab_size", vocab_size) != vocab_size)
      c.fail("decoder_vocab_size", "must be vocab_size: two tables are not modelled");
  }
};

/// Learned: the first two rows of its table are never used. Or fixed.
class BartPositionalEmbedding : public nn::Embedding {
 public:
  BartPositionalEmbedding(const nn::Scope& scope, const BartConfig& c)
      : Embedding(scope, c.max_position_embeddings + offset(c), c.d_model), offset_(offset(c)) {
    if (offset_ > 0) return;
    weight.impl().requires_grad = false;
    make_sinusoids();
  }

  /// Of positions [S] for all of `rows` rows. Fixed ones are looked up without gradients, even
  /// where FSDP's view of the table has one.
  Tensor operator()(const Tensor& position_ids, std::int64_t rows) {
    if (offset_ == 0) {
      const ghost::GradMode no_grad(false);
      return nn::Embedding::operator()(position_ids);
    }
    const Tensor of_rows = position_ids.unsqueeze(0).expand({rows, position_ids.size(0)});
    return nn::Embedding::operator()(of_rows.add(static_cast<double>(offset_)));
  }

 private:
  static std::int64_t offset(const BartConfig& c) { return c.has_fixed_positions() ? 0 : 2; }

  /// create_weight: each half is converted on the host and packed before it is put in its place.
  void make_sinusoids() const {
    const Tensor out = ghost::zeros(weight.sizes(), weight.dtype());
    for (int half = 0; half < 2; ++half)
      const Tensor packed = ghost::zeros({weight.size(0), weight.size(1) / 2}, weight.dtype());
  }

  std::int64_t offset_;
};

/// A stack's table goes as soon as it is made, before kBartTiesInTheEnd.
AttentionImplementation attention_after_tying(const BartConfig& c, nn::Embedding& embed_tokens,
                                              const Tensor& table) {
  if (!ghost::has(changes::kBartTiesInTheEnd)) nn::tie(embed_tokens, table);
  return c.attention;
}

/// Of all tokens, counted in embed_positions' frame.
Tensor embedded_positions(BartPositionalEmbedding& embed_positions, const Tensor& inputs_embeds) {
  const Tensor position_ids = ghost::arange(inputs_embeds.size(1), DType::int64);
  return embed_positions(position_ids, inputs_embeds.size(0));
}

class BartEncoder : public nn::Module<BartEncoder> {
 public:
  BartEncoder(const nn::Scope& scope, const BartConfig& c, const Tensor& table)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.d_model),
        attention_(attention_after_tying(c, embed_tokens, table)),
        looks_for_padding_(c.kind == BartKind::marian || c.kind == BartKind::pegasus),
        dropout_(c.dropout),
        embed_positions_(scope / "embed_positions", c),
        layers_(scope / "layers", c.encoder.layers, static_cast<const BartLayerConfig&>(c)) {
    if (!c.has_fixed_positions())
      layernorm_embedding_.emplace(scope / "layernorm_embedding", c.d_model);
    if (c.norms_first) layer_norm_.emplace(scope / "layer_norm", c.d_model);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    if (looks_for_padding_ && !given_mask.defined() &&
        !ghost::has(changes::kFairseqModelsCheckNoPadding))
      look_for_padding(input_ids);
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const Tensor embed_pos = embedded_positions(embed_positions_, inputs_embeds);
    Tensor hidden_states = inputs_embeds.add(embed_pos);
    if (layernorm_embedding_) hidden_states = (*layernorm_embedding_)(hidden_states);
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
  AttentionImplementation attention_;
  bool looks_for_padding_;
  double dropout_;
  BartPositionalEmbedding embed_positions_;
  nn::ModuleList<BartEncoderLayer> layers_;
  std::optional<nn::LayerNorm> layernorm_embedding_, layer_norm_;
};

class BartDecoder : public nn::Module<BartDecoder> {
 public:
  BartDecoder(const nn::Scope& scope, const BartConfig& c, const Tensor& table)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.d_model),
        attention_(attention_after_tying(c, embed_tokens, table)),
        kind_(c.kind),
        dropout_(c.dropout),
        embed_positions_(scope / "embed_positions", c),
        layers_(scope / "layers", c.decoder.layers, static_cast<const BartLayerConfig&>(c)) {
    if (!c.has_fixed_positions())
      layernorm_embedding_.emplace(scope / "layernorm_embedding", c.d_model);
    if (c.norms_first) layer_norm_.emplace(scope / "layer_norm", c.d_model);
  }

  Tensor forward(const Tensor& input_ids, const Tensor& encoder_hidden_states,
                 const Tensor& given_encoder_mask) {
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const bool counts_positions = ghost::has(changes::kBartLeavesHeads);
    const bool shares_masks = ghost::has(changes::kBartMasksAreShared);
    Tensor position_ids, cache_position, attention_mask, causal_mask;
    if (counts_positions) {
      position_ids = ghost::arange(inputs_embeds.size(1), DType::int64);
      const bool hands_on = !ghost::has(changes::kMasksCountTheirQueries);
      if (hands_on)
        cache_position = position_ids;
      else
        position_ids = position_ids.add(0);
      attention_mask = ghost::ones(input_ids.sizes(), DType::float32);
      causal_mask =
          create_causal_mask({.attention = attention_,
                              .attention_mask = attention_mask,
                              .shared_since = changes::kBartMasksAreShared},
                             inputs_embeds, hands_on ? position_ids.unsqueeze(0) : Tensor());
    } else if (attention_ == AttentionImplementation::eager) {
      causal_mask = prepare_4d_causal_attention_mask({}, inputs_embeds);
    }
    if (!shares_masks || kind_ == BartKind::bart || kind_ == BartKind::plbart)
      attention_mask = causal_mask;
    const Tensor encoder_attention_mask =
        create_bidirectional_mask({.attention = attention_, .attention_mask = given_encoder_mask},
                                  inputs_embeds, encoder_hidden_states);
    const Tensor positions = counts_positions ? embed_positions_(position_ids, 1)
                                              : embedded_positions(embed_positions_, inputs_embeds);
    if (kind_ == BartKind::mbart || kind_ == BartKind::marian) position_ids = positions;
    Tensor hidden_states = inputs_embeds.add(positions);
    if (layernorm_embedding_) hidden_states = (*layernorm_embedding_)(hidden_states);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    for (BartDecoderLayer& decoder_layer : layers_)
      hidden_states = decoder_layer(hidden_states, causal_mask, encoder_hidden_states,
                                    encoder_attention_mask, cache_position);
    if (layer_norm_) hidden_states = (*layer_norm_)(hidden_states);
    return hidden_states;
  }

  BartScaledWordEmbedding embed_tokens;

 private:
  AttentionImplementation attention_;
  BartKind kind_;  ///< which names live on differs
  double dropout_;
  BartPositionalEmbedding embed_positions_;
  nn::ModuleList<BartDecoderLayer> layers_;
  std::optional<nn::LayerNorm> layernorm_embedding_, layer_norm_;
};

class BartForConditionalGeneration : public PretrainedModel {
 public:
  BartForConditionalGeneration(const BartConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        kind_(c.kind),
        model_(root() / "model"),
        shared_(model_ / "shared", c.vocab_size, c.d_model),
        encoder_(model_ / "encoder", c, shared_.weight),
        decoder_(model_ / "decoder", c, shared_.weight),
        final_logits_bias_(tied_then_zeros(c)),
        lm_head_(root() / "lm_head", c.d_model, c.vocab_size, false) {
    root().buffer("final_logits_bias", final_logits_bias_);
    if (c.tie_word_embeddings) nn::tie(lm_head_, shared_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const bool names_language = kind_ == BartKind::mbart || kind_ == BartKind::plbart;
    const Tensor decoder_input_ids = names_language ? shift_tokens_behind_language(batch.labels)
                                                    : shift_tokens_right(batch.labels);
    const Tensor encoder_output = encoder_(batch.input_ids, batch.attention_mask);
    const Tensor decoder_output = decoder_(decoder_input_ids, encoder_output, batch.attention_mask);
    Tensor lm_logits = lm_head_(decoder_output);
    lm_logits = lm_logits.add(final_logits_bias_);
    Tensor loss = masked_lm_loss(lm_logits, batch, vocab_size_);
    return {std::move(loss), std::move(lm_logits), encoder_output};
  }

 private:
  /// BartModel's tables are tied as soon as it is made; the bias comes after it.
  Tensor tied_then_zeros(const BartConfig& c) {
    if (c.tie_word_embeddings && ghost::has(changes::kBartTiesInTheEnd)) {
      nn::tie(decoder_.embed_tokens, shared_.weight);
      nn::tie(encoder_.embed_tokens, shared_.weight);
    }
    return ghost::zeros({1, c.vocab_size}, tree.dtype());
  }

  std::int64_t vocab_size_;
  BartKind kind_;
  nn::Scope model_;
  BartScaledWordEmbedding shared_;
  BartEncoder encoder_;
  BartDecoder decoder_;
  Tensor final_logits_bias_;
  nn::Linear lm_head_;
};

ModelPointer build_bart(const Config& c, const ModelOptions& options) {
  const BartConfig config(c, options, BartKind::bart);
  return build_checked<BartForConditionalGeneration>(c, config, options);
}

ModelPointer build_plbart(const Config& c, const ModelOptions& options) {
  const BartConfig config(c, options, BartKind::plbart);
  return build_checked<BartForConditionalGeneration>(c, config, options);
}

ModelPointer build_mbart(const Config& c, const ModelOptions& options) {
  const BartConfig config(c, options, BartKind::mbart);
  return build_checked<BartForConditionalGeneration>(c, config, options);
}

ModelPointer build_marian(const Config& c, const ModelOptions& options) {
  const BartConfig config(c, options, BartKind::marian);
  return build_checked<BartForConditionalGeneration>(c, config, options);
}

ModelPointer build_pegasus(const Config& c, const ModelOptions& options) {
  const BartConfig config(c, options, BartKind::pegasus);
  return build_checked<BartForConditionalGeneration>(c, config, options);
}

}  // namespace

extern const FamilyFacts kBart{.model_type = "bart",
                               .task = Task::seq2seq_lm,
                               .ties_head = Known::yes,
                               .has_bos = Known::yes,
                               .modeling = kEncoder,
                               .build = build_bart};

extern const FamilyFacts kPlbart{.model_type = "plbart",
                                 .task = Task::seq2seq_lm,
                                 .ties_head = Known::yes,
                                 .has_bos = Known::yes,
                                 .modeling = kEncoder,
                                 .build = build_plbart};

extern const FamilyFacts kMbart{.model_type = "mbart",
                                .task = Task::seq2seq_lm,
                                .ties_head = Known::yes,
                                .has_bos = Known::yes,
                                .modeling = kEncoder,
                                .build = build_mbart};

extern const FamilyFacts kMarian{.model_type = "marian",
                                 .task = Task::seq2seq_lm,
                                 .ties_head = Known::yes,
                                 .has_bos = Known::no,
                                 .modeling = kEncoder,
                                 .build = build_marian};

extern const FamilyFacts kPegasus{.model_type = "pegasus",
                                  .task = Task::seq2seq_lm,
                                  .ties_head = Known::yes,
                                  .has_bos = Known::no,
                                  .modeling = kEncoder,
                                  .build = build_pegasus};

}  // namespace memtape::family
