// SPDX-License-Identifier: Apache-2.0
// DistilBERT with its masked-language-model head or a classifier: BERT's layers without token
// types, projections under other names; mirroring transformers 5.17
// models/distilbert/modeling_distilbert.py.
#include "family/facts.h"
#include "family/losses/loss.h"
#include "family/parts/activations.h"
#include "family/parts/attention_interface.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/config_checks.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/position_ids.h"
#include "ghost/autocast.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/views.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

struct DistilBertConfig {
  DistilBertConfig(const Config& c, const ModelOptions& options)
      : vocab_size(c.dimension("vocab_size", 30522)),
        max_position_embeddings(c.dimension("max_position_embeddings", 512)),
        num_hidden_layers(c.layers({"n_layers", "num_hidden_layers"}, 6)),
        n_heads(c.dimension({"n_heads", "num_attention_heads"}, 12)),
        dim(c.dimension({"dim", "hidden_size"}, 768)),
        hidden_dim(c.dimension("hidden_dim", 3072)),
        dropout(c.number("dropout", 0.1)),
        attention_dropout(c.number("attention_dropout", 0.1)),
        activation_function(activation(c, "activation", "gelu")),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        attention(options.attention) {
    check_divides(c, "n_heads", n_heads, dim);
    if (c.boolean("sinusoidal_pos_embds", false)) c.fail("sinusoidal_pos_embds", "is not modelled");
    if (c.count("chunk_size_feed_forward", 0) > 0)
      c.fail("chunk_size_feed_forward", "is not modelled");
  }

  std::int64_t vocab_size, max_position_embeddings, num_hidden_layers, n_heads, dim, hidden_dim;
  double dropout, attention_dropout;
  nn::Activation activation_function;
  bool tie_word_embeddings;
  AttentionImplementation attention;
};

class Embeddings : public nn::Module<Embeddings> {
 public:
  Embeddings(const nn::Scope& scope, const DistilBertConfig& c)
      : Module(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.dim),
        position_embeddings_(scope / "position_embeddings", c.max_position_embeddings, c.dim),
        layer_norm_(scope / "LayerNorm", c.dim),
        dropout_(scope / "dropout", c.dropout),
        position_ids_(scope, c.max_position_embeddings) {}

  void init_weights() const { position_ids_.init_weights(); }

  Tensor forward(const Tensor& input_ids) {
    const Tensor inputs_embeds = word_embeddings(input_ids);
    const Tensor position_ids = position_ids_.first(inputs_embeds.size(1));
    const Tensor position_embeddings = position_embeddings_(position_ids);
    Tensor embeddings = inputs_embeds.add(position_embeddings);
    embeddings = layer_norm_(embeddings);
    embeddings = dropout_(embeddings);
    return embeddings;
  }

  nn::Embedding word_embeddings;

 private:
  nn::Embedding position_embeddings_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
  PositionIds position_ids_;
};

class DistilBertSelfAttention : public nn::Module<DistilBertSelfAttention> {
 public:
  DistilBertSelfAttention(const nn::Scope& scope, const DistilBertConfig& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attention_dropout,
              .is_causal = false,
              .eager_softmax = EagerSoftmax::plain},
        head_size_(c.dim / c.n_heads),
        q_lin_(scope / "q_lin", c.dim, c.dim),
        k_lin_(scope / "k_lin", c.dim, c.dim),
        v_lin_(scope / "v_lin", c.dim, c.dim),
        out_lin_(scope / "out_lin", c.dim, c.dim) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(head_size_);
    Tensor query_layer = q_lin_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor key_layer = k_lin_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor value_layer = v_lin_(hidden_states).view(hidden_shape).transpose(1, 2);
    if (!ghost::has(changes::kEncodersCallTheInterface) &&
        call_.implementation != AttentionImplementation::flash)
      return written_out(std::move(query_layer), key_layer, value_layer, attention_mask);
    Tensor attn_output =
        attention_interface(call_, query_layer, key_layer, value_layer, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    return out_lin_(attn_output);
  }

 private:
  /// DistilBertSdpaAttention and MultiHeadSelfAttention, which looks for what [B, S] hides itself.
  Tensor written_out(Tensor q, const Tensor& k, const Tensor& v, const Tensor& given_mask) {
    Tensor mask, scores, weights, context;
    if (call_.implementation == AttentionImplementation::sdpa) {
      const double dropout = ghost::session().training ? call_.dropout : 0.0;
      context = ghost::scaled_dot_product_attention(q, k, v, given_mask, {.dropout = dropout});
    } else {
      q = q.div(2.0);
      scores = q.matmul(k.transpose(2, 3));
      mask = ghost::eq(given_mask, 0).unsqueeze(1).unsqueeze(1).expand(scores.sizes());
      scores = ghost::masked_fill(scores, mask, ghost::kLowest);
      weights = ghost::softmax(scores, ghost::reduction_dtype(scores));
      weights = ghost::dropout(weights, call_.dropout);
      context = weights.matmul(v);
    }
    context = context.transpose(1, 2).contiguous();
    const Dims& s = context.sizes();
    context = context.view({s[0], s[1], s[2] * s[3]});
    return out_lin_(context);
  }

  AttentionCall call_;
  std::int64_t head_size_;
  nn::Linear q_lin_, k_lin_, v_lin_, out_lin_;
};

class FFN : public nn::Module<FFN> {
 public:
  FFN(const nn::Scope& scope, const DistilBertConfig& c)
      : Module(scope),
        dropout_(scope / "dropout", c.dropout),
        lin1_(scope / "lin1", c.dim, c.hidden_dim),
        lin2_(scope / "lin2", c.hidden_dim, c.dim),
        activation_(c.activation_function) {}

  Tensor forward(const Tensor& input) {
    Tensor x = lin1_(input);
    x = activation_(x);
    x = lin2_(x);
    x = dropout_(x);
    return x;
  }

 private:
  nn::Dropout dropout_;
  nn::Linear lin1_, lin2_;
  nn::Activation activation_;
};

class TransformerBlock : public nn::GradientCheckpointingLayer<TransformerBlock> {
 public:
  static constexpr bool kTakesTensorsByPosition = true;

  /// What the model hands to its layers.
  static EncoderMask mask_for(AttentionImplementation attention, const Tensor& given_mask,
                              const Tensor& embeddings) {
    if (attention != AttentionImplementation::eager ||
        ghost::has(changes::kEncodersCallTheInterface))
      return {.given = {}, .extended = encoder_mask(attention, given_mask, embeddings).extended};
    return {.given = {},
            .extended = given_mask.defined()
                            ? given_mask
                            : ghost::ones(embeddings.sizes().leading(), DType::float32)};
  }

  TransformerBlock(const nn::Scope& scope, const DistilBertConfig& c)
      : GradientCheckpointingLayer(scope),
        attention_(scope / "attention", c),
        sa_layer_norm_(scope / "sa_layer_norm", c.dim),
        ffn_(scope / "ffn", c),
        output_layer_norm_(scope / "output_layer_norm", c.dim) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    Tensor attention_output = attention_(hidden_states, attention_mask);
    attention_output = sa_layer_norm_(attention_output.add(hidden_states));
    Tensor ffn_output = ffn_(attention_output);
    ffn_output = output_layer_norm_(ffn_output.add(attention_output));
    return ffn_output;
  }

 private:
  DistilBertSelfAttention attention_;
  nn::LayerNorm sa_layer_norm_;
  FFN ffn_;
  nn::LayerNorm output_layer_norm_;
};

using DistilBertModel = BertModel<Embeddings, TransformerBlock>;

class DistilBertForMaskedLM : public PretrainedModel {
 public:
  DistilBertForMaskedLM(const DistilBertConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        activation_(c.activation_function),
        distilbert_(root() / "distilbert", c, "transformer"),
        vocab_transform_(root() / "vocab_transform", c.dim, c.dim),
        vocab_layer_norm_(root() / "vocab_layer_norm", c.dim),
        vocab_projector_(root() / "vocab_projector", c.dim, c.vocab_size) {
    if (c.tie_word_embeddings)
      nn::tie(vocab_projector_, distilbert_.embeddings.word_embeddings.weight);
  }

  std::string_view output_embeddings() const override { return "vocab_projector"; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = distilbert_(batch.input_ids, batch.attention_mask);
    Tensor prediction_logits = vocab_transform_(hidden_states);
    prediction_logits = activation_(prediction_logits);
    prediction_logits = vocab_layer_norm_(prediction_logits);
    prediction_logits = vocab_projector_(prediction_logits);
    Tensor loss = masked_lm_loss(prediction_logits, batch, vocab_size_);
    return {std::move(loss), std::move(prediction_logits)};
  }

 private:
  std::int64_t vocab_size_;
  nn::Activation activation_;
  DistilBertModel distilbert_;
  nn::Linear vocab_transform_;
  nn::LayerNorm vocab_layer_norm_;
  nn::Linear vocab_projector_;
};

/// DistilBertForSequenceClassification's and MultipleChoice's, of the first token.
class PreClassifier final : public ClassifierHead {
 public:
  PreClassifier(const nn::Scope& root, const ClassifierWidths& widths)
      : pre_classifier_(root / "pre_classifier", widths.hidden_size, widths.hidden_size),
        classifier_(root / "classifier", widths.hidden_size, widths.num_labels),
        dropout_(root / "dropout", widths.dropout) {}

  Tensor logits(Tensor& features, const Tensor&) override {
    features = ghost::indexed_by_colons(features, 1).select(1, 0);
    features = pre_classifier_(features);
    features = ghost::relu(features);
    features = dropout_(features);
    return classifier_(features);
  }

 private:
  nn::Linear pre_classifier_, classifier_;
  nn::Dropout dropout_;
};

std::unique_ptr<ClassifierHead> make_distilbert_head(const nn::Scope& root, const nn::Scope*,
                                                     const ModelOptions& options,
                                                     const ClassifierWidths& widths) {
  if (options.task == Task::sequence_classification || options.task == Task::multiple_choice)
    return std::make_unique<PreClassifier>(root, widths);
  return make_token_head(root, options.task, widths);
}

double classifier_dropout(const Config& c, const DistilBertConfig& config, Task task) {
  if (task == Task::sequence_classification || task == Task::multiple_choice)
    return c.number("seq_classif_dropout", 0.2);
  return task == Task::question_answering ? c.number("qa_dropout", 0.1) : config.dropout;
}

ModelPointer build_distilbert(const Config& c, const ModelOptions& options) {
  const DistilBertConfig config(c, options);
  if (!is_classification(options.task))
    return build_checked<DistilBertForMaskedLM>(c, config, options);
  const double dropout = classifier_dropout(c, config, options.task);
  if (!c.check()) return nullptr;
  using Model = EncoderForClassification<DistilBertModel>;
  const std::int64_t labels = options.task == Task::multiple_choice ? 1 : options.num_labels;
  return std::make_unique<Model>(options, ClassifierWidths{config.dim, labels, dropout},
                                 make_distilbert_head, MadeFirst::body, "distilbert", config,
                                 "transformer");
}

}  // namespace

extern const FamilyFacts kDistilbert{
    .model_type = "distilbert",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::no,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_distilbert};

}  // namespace memtape::family
