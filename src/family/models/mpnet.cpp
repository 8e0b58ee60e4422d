// SPDX-License-Identifier: Apache-2.0
// MPNet with its masked-language-model head or a classifier: BERT's layers under RoBERTa's
// positions, and a bias by relative position that the encoder makes once and every layer adds to
// its scores; mirroring transformers 5.17 models/mpnet/modeling_mpnet.py, which has no fused
// attention.
#include "family/facts.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/encoder_masked_lm.h"
#include "family/parts/fairseq_positions.h"
#include "family/parts/position_ids.h"
#include "family/parts/roberta_head.h"
#include "ghost/autocast.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

struct MPNetConfig : BertConfig {
  MPNetConfig(const Config& c, const ModelOptions& options)
      : BertConfig(c, options, {.vocab_size = 30527}),
        relative_attention_num_buckets(c.dimension("relative_attention_num_buckets", 32)) {
    attention = AttentionImplementation::eager;
  }
  std::int64_t relative_attention_num_buckets;
};

class MPNetEmbeddings : public nn::Module<MPNetEmbeddings> {
 public:
  MPNetEmbeddings(const nn::Scope& scope, const MPNetConfig& c)
      : Module(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size),
        position_embeddings_(scope / "position_embeddings", c.max_position_embeddings,
                             c.hidden_size),
        layer_norm_(scope / "LayerNorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob),
        position_ids_(scope, c.max_position_embeddings) {}

  void init_weights() const { position_ids_.init_weights(); }

  Tensor forward(const Tensor& input_ids) {
    const Tensor position_ids = create_position_ids_from_input_ids(input_ids, PastLength::left_out);
    const Tensor inputs_embeds = word_embeddings(input_ids);
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

class MPNetSelfAttention : public nn::Module<MPNetSelfAttention> {
 public:
  MPNetSelfAttention(const nn::Scope& scope, const MPNetConfig& c)
      : Module(scope),
        attention_head_size_(c.hidden_size / c.num_attention_heads),
        q_(scope / "q", c.hidden_size, c.hidden_size),
        k_(scope / "k", c.hidden_size, c.hidden_size),
        v_(scope / "v", c.hidden_size, c.hidden_size),
        o_(scope / "o", c.hidden_size, c.hidden_size),
        dropout_(scope / "dropout", c.attention_probs_dropout_prob) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const Tensor& position_bias) {
    const Dims hidden_shape = hidden_states.sizes().leading().with(-1).with(attention_head_size_);
    const Tensor q = q_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor k = k_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor v = v_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor attention_scores = q.matmul(k.transpose(-1, -2));
    attention_scores = attention_scores.div(2.0);
    ghost::add_(attention_scores, position_bias);
    if (attention_mask.defined()) attention_scores = attention_scores.add(attention_mask);
    Tensor attention_probs =
        ghost::softmax(attention_scores, ghost::reduction_dtype(attention_scores));
    attention_probs = dropout_(attention_probs);
    Tensor c = attention_probs.matmul(v);
    c = c.permute({0, 2, 1, 3}).contiguous();
    c = c.view(hidden_states.sizes());
    return o_(c);
  }

 private:
  std::int64_t attention_head_size_;
  nn::Linear q_, k_, v_, o_;
  nn::Dropout dropout_;
};

class MPNetAttention : public nn::Module<MPNetAttention> {
 public:
  MPNetAttention(const nn::Scope& scope, const MPNetConfig& c)
      : Module(scope),
        attn_(scope / "attn", c),
        layer_norm_(scope / "LayerNorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const Tensor& position_bias) {
    const Tensor self_outputs = attn_(hidden_states, attention_mask, position_bias);
    return layer_norm_(dropout_(self_outputs).add(hidden_states));
  }

 private:
  MPNetSelfAttention attn_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
};

class MPNetLayer : public nn::Module<MPNetLayer> {
 public:
  MPNetLayer(const nn::Scope& scope, const MPNetConfig& c)
      : Module(scope),
        attention_(scope / "attention", c),
        intermediate_(scope / "intermediate", c),
        output_(scope / "output", c.intermediate_size, c) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const Tensor& position_bias) {
    const Tensor attention_output = attention_(hidden_states, attention_mask, position_bias);
    const Tensor intermediate_output = intermediate_(attention_output);
    return output_(intermediate_output, attention_output);
  }

 private:
  MPNetAttention attention_;
  BertIntermediate intermediate_;
  BertOutput output_;
};

class MPNetEncoder : public nn::Module<MPNetEncoder> {
 public:
  MPNetEncoder(const nn::Scope& scope, const MPNetConfig& c)
      : Module(scope),
        layer_(scope / "layer", c.num_hidden_layers, c),
        relative_attention_bias_(scope / "relative_attention_bias",
                                 c.relative_attention_num_buckets, c.num_attention_heads) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask) {
    const Tensor position_bias = compute_position_bias(x.size(0), x.size(1));
    Tensor hidden_states = x;
    for (MPNetLayer& layer_module : layer_)
      hidden_states = layer_module(hidden_states, attention_mask, position_bias);
    return hidden_states;
  }

 private:
  /// Positions and their buckets are made on the host.
  Tensor compute_position_bias(std::int64_t rows, std::int64_t length) {
    const Tensor rp_bucket = ghost::zeros({length, length}, DType::int64);
    Tensor values = relative_attention_bias_(rp_bucket);
    values = values.permute({2, 0, 1}).unsqueeze(0);
    values = values.expand({rows, values.size(1), length, length}).contiguous();
    return values;
  }

  nn::ModuleList<MPNetLayer> layer_;
  nn::Embedding relative_attention_bias_;
};

class MPNetModel : public nn::Module<MPNetModel> {
 public:
  MPNetModel(const nn::Scope& scope, const MPNetConfig& c)
      : Module(scope), embeddings(scope / "embeddings", c), encoder_(scope / "encoder", c) {
    embeddings.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const Tensor embedding_output = embeddings(input_ids);
    const Tensor attention_mask = create_bidirectional_mask(
        {.attention = AttentionImplementation::eager, .attention_mask = given_mask},
        embedding_output);
    return encoder_(embedding_output, attention_mask);
  }

  MPNetEmbeddings embeddings;

 private:
  MPNetEncoder encoder_;
};

ModelPointer build_mpnet(const Config& c, const ModelOptions& options) {
  const MPNetConfig config(c, options);
  ModelOptions classifier = options;
  classifier.classifier_dropout.reset();  // its classes drop out by hidden_dropout_prob
  if (!c.check()) return nullptr;
  if (!is_classification(options.task))
    return std::make_unique<EncoderForMaskedLM<MPNetModel, RobertaLMHead>>(
        config, options, MaskedLmNames{"mpnet", "lm_head"});
  return std::make_unique<EncoderForClassification<MPNetModel>>(
      options, classifier_widths(classifier, config.hidden_size, config.hidden_dropout_prob),
      make_dense_head, MadeFirst::body, "mpnet", config);
}

}  // namespace

extern const FamilyFacts kMpnet{
    .model_type = "mpnet",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = counting_from_padding(eager_only(kEncoder)),
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_mpnet};

}  // namespace memtape::family
