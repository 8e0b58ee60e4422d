// SPDX-License-Identifier: Apache-2.0
// BERT with its masked-language-model head: three embedding tables, norms after each branch, no
// mask for whole batches, a decoder whose weight and bias are tied; mirroring transformers 5.17
// models/bert/modeling_bert.py.
#include "family/activations.h"
#include "family/attention_interface.h"
#include "family/config_checks.h"
#include "family/families.h"
#include "family/masking.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/loss.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {
namespace {

struct BertConfig {
  BertConfig(const Config& c, const ModelOptions& options)
      : vocab_size(c.dimension("vocab_size", 30522)),
        hidden_size(c.dimension("hidden_size", 768)),
        num_hidden_layers(c.layers("num_hidden_layers", 12)),
        num_attention_heads(c.dimension("num_attention_heads", 12)),
        intermediate_size(c.dimension("intermediate_size", 3072)),
        max_position_embeddings(c.dimension("max_position_embeddings", 512)),
        type_vocab_size(c.dimension("type_vocab_size", 2)),
        hidden_act(activation(c, "hidden_act", "gelu")),
        hidden_dropout_prob(c.number("hidden_dropout_prob", 0.1)),
        attention_probs_dropout_prob(c.number("attention_probs_dropout_prob", 0.1)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        attention(options.attention) {
    check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
    if (c.boolean("is_decoder", false)) c.fail("is_decoder", "only BERT as an encoder is modelled");
    if (c.count("chunk_size_feed_forward", 0) > 0)
      c.fail("chunk_size_feed_forward", "is not modelled");
  }

  std::int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size;
  std::int64_t max_position_embeddings, type_vocab_size;
  nn::Activation hidden_act;
  double hidden_dropout_prob, attention_probs_dropout_prob;
  bool tie_word_embeddings;
  AttentionImplementation attention;
};

/// torch.gather of integers: a new tensor of the index's sizes.
Tensor gather(const Tensor& self, const Tensor& index) {
  const ghost::Op op("gather", {});
  return ghost::empty(index.sizes(), self.dtype());
}

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
    const Tensor buffered_token_type_ids = gather(token_type_ids_, position_ids);
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

class BertSelfAttention : public nn::Module<BertSelfAttention> {
 public:
  BertSelfAttention(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attention_probs_dropout_prob,
              .is_causal = false,
              .eager_softmax = EagerSoftmax::plain},
        attention_head_size_(c.hidden_size / c.num_attention_heads),
        query_(scope / "query", c.hidden_size, c.hidden_size),
        key_(scope / "key", c.hidden_size, c.hidden_size),
        value_(scope / "value", c.hidden_size, c.hidden_size) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(attention_head_size_);
    const Tensor query_layer = query_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor key_layer = key_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor value_layer = value_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor attn_output =
        attention_interface(call_, query_layer, key_layer, value_layer, attention_mask);
    return attn_output.reshape(input_shape.with(-1)).contiguous();
  }

 private:
  AttentionCall call_;
  std::int64_t attention_head_size_;
  nn::Linear query_, key_, value_;
};

/// BertSelfOutput and BertOutput: a projection, dropout, and the norm of its sum with the branch's
/// input.
class BertOutput : public nn::Module<BertOutput> {
 public:
  BertOutput(const nn::Scope& scope, std::int64_t in_features, const BertConfig& c)
      : Module(scope),
        dense_(scope / "dense", in_features, c.hidden_size),
        layer_norm_(scope / "LayerNorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& x, const Tensor& input_tensor) {
    Tensor hidden_states = dense_(x);
    hidden_states = dropout_(hidden_states);
    hidden_states = layer_norm_(hidden_states.add(input_tensor));
    return hidden_states;
  }

 private:
  nn::Linear dense_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
};

class BertAttention : public nn::Module<BertAttention> {
 public:
  BertAttention(const nn::Scope& scope, const BertConfig& c)
      : Module(scope), self_(scope / "self", c), output_(scope / "output", c.hidden_size, c) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    Tensor attention_output = self_(hidden_states, attention_mask);
    attention_output = output_(attention_output, hidden_states);
    return attention_output;
  }

 private:
  BertSelfAttention self_;
  BertOutput output_;
};

class BertIntermediate : public nn::Module<BertIntermediate> {
 public:
  BertIntermediate(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        dense_(scope / "dense", c.hidden_size, c.intermediate_size),
        intermediate_act_fn_(c.hidden_act) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = dense_(x);
    hidden_states = intermediate_act_fn_(hidden_states);
    return hidden_states;
  }

 private:
  nn::Linear dense_;
  nn::Activation intermediate_act_fn_;
};

class BertLayer : public nn::GradientCheckpointingLayer<BertLayer> {
 public:
  BertLayer(const nn::Scope& scope, const BertConfig& c)
      : GradientCheckpointingLayer(scope),
        attention_(scope / "attention", c),
        intermediate_(scope / "intermediate", c),
        output_(scope / "output", c.intermediate_size, c) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const Tensor attention_output = attention_(hidden_states, attention_mask);
    const Tensor intermediate_output = intermediate_(attention_output);
    return output_(intermediate_output, attention_output);
  }

 private:
  BertAttention attention_;
  BertIntermediate intermediate_;
  BertOutput output_;
};

class BertModel : public nn::Module<BertModel> {
 public:
  BertModel(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        embeddings(scope / "embeddings", c),
        attention_(c.attention),
        layer_(scope / "encoder" / "layer", c.num_hidden_layers, c) {
    embeddings.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const Tensor embedding_output = embeddings(input_ids);
    const Tensor attention_mask = create_bidirectional_mask(
        {.attention = attention_, .attention_mask = given_mask}, embedding_output);
    Tensor hidden_states = embedding_output;
    for (BertLayer& layer_module : layer_)
      hidden_states = layer_module(hidden_states, attention_mask);
    return hidden_states;
  }

  BertEmbeddings embeddings;

 private:
  AttentionImplementation attention_;
  nn::ModuleList<BertLayer> layer_;
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
    Tensor scores = prediction_scores.view({-1, vocab_size_});
    Tensor loss = ghost::cross_entropy(std::move(scores), batch.labels.view({-1}));
    return {std::move(loss), std::move(prediction_scores)};
  }

 private:
  std::int64_t vocab_size_;
  BertModel bert_;
  BertLMPredictionHead predictions_;
};

}  // namespace

ModelPointer build_bert(const Config& c, const ModelOptions& options) {
  return build_checked<BertForMaskedLM>(c, BertConfig(c, options), options);
}

}  // namespace memtape::family
