// SPDX-License-Identifier: Apache-2.0
// BERT with its masked-language-model head: three embedding tables, norms after each branch, no
// mask for whole batches, a decoder whose weight and bias are tied; mirroring transformers 5.17
// models/bert/modeling_bert.py.
#include "family/bert_encoder.h"
#include "family/families.h"
#include "family/loss.h"
#include "ghost/ops/creation.h"

namespace memtape::family {
namespace {

class BertEmbeddings : public nn::Module<BertEmbeddings> {
 public:
  BertEmbeddings(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size),
        position_embeddings_(scope / "position_embeddings", c.max_position_embeddings,
                             c.hidden_size),
        token_type_embeddings_(scope / "token_type_embeddings", c.type_vocab_size, c.hidden_size),
        layer_norm_(scope / "LayerNorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {
    const ghost::ScopeGuard guard(node().scope);
    position_ids_ = ghost::arange(c.max_position_embeddings, DType::int64).unsqueeze(0);
    scope.buffer("position_ids", position_ids_);
    token_type_ids_ = ghost::zeros(position_ids_.sizes(), DType::int64);
    scope.buffer("token_type_ids", token_type_ids_);
  }

  /// _init_weights copies a new range into position_ids.
  void init_weights() const {
    const ghost::ScopeGuard guard(node().scope);
    const Tensor again = ghost::arange(position_ids_.size(1), DType::int64);
  }

  Tensor forward(const Tensor& input_ids) {
    const std::int64_t batch_size = input_ids.size(0), seq_length = input_ids.size(1);
    const Tensor position_ids = position_ids_.slice(1, 0, seq_length);
    const Tensor buffered_token_type_ids = gather_token_types(token_type_ids_, position_ids);
    const Tensor token_type_ids = buffered_token_type_ids.expand({batch_size, seq_length});
    const Tensor inputs_embeds = word_embeddings(input_ids);
    const Tensor token_type_embeddings = token_type_embeddings_(token_type_ids);
    Tensor embeddings = inputs_embeds.add(token_type_embeddings);
    const Tensor position_embeddings = position_embeddings_(position_ids);
    embeddings = embeddings.add(position_embeddings);
    embeddings = layer_norm_(embeddings);
    embeddings = dropout_(embeddings);
    return embeddings;
  }

  nn::Embedding word_embeddings;

 private:
  nn::Embedding position_embeddings_, token_type_embeddings_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
  Tensor position_ids_, token_type_ids_;
};

class BertPredictionHeadTransform : public nn::Module<BertPredictionHeadTransform> {
 public:
  BertPredictionHeadTransform(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        dense_(scope / "dense", c.hidden_size, c.hidden_size),
        transform_act_fn_(c.hidden_act),
        layer_norm_(scope / "LayerNorm", c.hidden_size) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = dense_(x);
    hidden_states = transform_act_fn_(hidden_states);
    hidden_states = layer_norm_(hidden_states);
    return hidden_states;
  }

 private:
  nn::Linear dense_;
  nn::Activation transform_act_fn_;
  nn::LayerNorm layer_norm_;
};

class BertLMPredictionHead : public nn::Module<BertLMPredictionHead> {
 public:
  BertLMPredictionHead(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        transform_(scope / "transform", c),
        decoder_(scope / "decoder", c.hidden_size, c.vocab_size),
        bias_(scope.parameter("bias", {c.vocab_size})) {}

  void tie(const Tensor& table) {
    nn::tie(decoder_, table);
    nn::tie_bias(decoder_, bias_);
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = transform_(x);
    return decoder_(hidden_states);
  }

 private:
  BertPredictionHeadTransform transform_;
  nn::Linear decoder_;
  Tensor bias_;
};

class BertForMaskedLM : public PretrainedModel {
 public:
  BertForMaskedLM(const BertConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        bert_(root() / "bert", c),
        predictions_(root() / "cls" / "predictions", c) {
    if (c.tie_word_embeddings) predictions_.tie(bert_.embeddings.word_embeddings.weight);
  }

  std::string_view output_embeddings() const override { return "cls.predictions.decoder"; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor sequence_output = bert_(batch.input_ids, batch.attention_mask);
    Tensor prediction_scores = predictions_(sequence_output);
    Tensor loss = masked_lm_loss(prediction_scores, batch, vocab_size_);
    return {std::move(loss), std::move(prediction_scores)};
  }

 private:
  std::int64_t vocab_size_;
  BertModel<BertEmbeddings> bert_;
  BertLMPredictionHead predictions_;
};

}  // namespace

ModelPointer build_bert(const Config& c, const ModelOptions& options) {
  return build_checked<BertForMaskedLM>(c, BertConfig(c, options, 30522), options);
}

}  // namespace memtape::family
