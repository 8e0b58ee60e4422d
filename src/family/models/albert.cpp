// SPDX-License-Identifier: Apache-2.0
// ALBERT with its masked-language-model head: a few layers that the stack goes through again and
// again, over narrower embeddings; mirroring transformers 5.17 models/albert/modeling_albert.py.
#include "family/facts.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/encoder_masked_lm.h"
#include "nn/layer_frame.h"

namespace memtape::family {
namespace {

struct AlbertConfig : BertConfig {
  AlbertConfig(const Config& c, const ModelOptions& options)
      : BertConfig(c, options,
                   {.vocab_size = 30000,
                    .hidden_size = 4096,
                    .num_attention_heads = 64,
                    .intermediate_size = 16384,
                    .hidden_act = "gelu_new",
                    .dropout = 0.0}),
        embedding_size(c.dimension("embedding_size", 128)),
        num_hidden_groups(c.layers("num_hidden_groups", 1)),
        inner_group_num(c.layers("inner_group_num", 1)) {}
  std::int64_t embedding_size, num_hidden_groups, inner_group_num;
};

class AlbertAttention : public nn::Module<AlbertAttention> {
 public:
  AlbertAttention(const nn::Scope& scope, const AlbertConfig& c)
      : Module(scope),
        call_{.implementation = c.attention,
              .dropout = c.attention_probs_dropout_prob,
              .is_causal = false,
              .eager_softmax = EagerSoftmax::plain},
        attention_head_size_(c.hidden_size / c.num_attention_heads),
        output_dropout_(scope / "output_dropout", c.hidden_dropout_prob),
        query_(scope / "query", c.hidden_size, c.hidden_size),
        key_(scope / "key", c.hidden_size, c.hidden_size),
        value_(scope / "value", c.hidden_size, c.hidden_size),
        dense_(scope / "dense", c.hidden_size, c.hidden_size),
        layer_norm_(scope / "LayerNorm", c.hidden_size) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const Dims input_shape = hidden_states.sizes().leading();
    const Dims hidden_shape = input_shape.with(-1).with(attention_head_size_);
    const Tensor query_layer = query_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor key_layer = key_(hidden_states).view(hidden_shape).transpose(1, 2);
    const Tensor value_layer = value_(hidden_states).view(hidden_shape).transpose(1, 2);
    Tensor attn_output =
        attention_interface(call_, query_layer, key_layer, value_layer, attention_mask);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    attn_output = dense_(attn_output);
    attn_output = output_dropout_(attn_output);
    attn_output = layer_norm_(hidden_states.add(attn_output));
    return attn_output;
  }

 private:
  AttentionCall call_;
  std::int64_t attention_head_size_;
  nn::Dropout output_dropout_;
  nn::Linear query_, key_, value_, dense_;
  nn::LayerNorm layer_norm_;
};

class AlbertLayer : public nn::Module<AlbertLayer> {
 public:
  AlbertLayer(const nn::Scope& scope, const AlbertConfig& c)
      : Module(scope),
        full_layer_layer_norm_(scope / "full_layer_layer_norm", c.hidden_size),
        attention_(scope / "attention", c),
        ffn_(scope / "ffn", c.hidden_size, c.intermediate_size),
        ffn_output_(scope / "ffn_output", c.intermediate_size, c.hidden_size),
        activation_(c.hidden_act) {}

  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const nn::LayerFrame frame;
    const Tensor attention_output = attention_(hidden_states, attention_mask);
    const Tensor ffn_output = ff_chunk(attention_output);
    return full_layer_layer_norm_(ffn_output.add(attention_output));
  }

 private:
  Tensor ff_chunk(const Tensor& attention_output) {
    Tensor ffn_output = ffn_(attention_output);
    ffn_output = activation_(ffn_output);
    ffn_output = ffn_output_(ffn_output);
    return ffn_output;
  }

  nn::LayerNorm full_layer_layer_norm_;
  AlbertAttention attention_;
  nn::Linear ffn_, ffn_output_;
  nn::Activation activation_;
};

class AlbertLayerGroup : public nn::Module<AlbertLayerGroup> {
 public:
  AlbertLayerGroup(const nn::Scope& scope, const AlbertConfig& c)
      : Module(scope), albert_layers_(scope / "albert_layers", c.inner_group_num, c) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask) {
    Tensor hidden_states = x;
    for (AlbertLayer& albert_layer : albert_layers_)
      hidden_states = albert_layer(hidden_states, attention_mask);
    return hidden_states;
  }

 private:
  nn::ModuleList<AlbertLayer> albert_layers_;
};

class AlbertTransformer : public nn::Module<AlbertTransformer> {
 public:
  AlbertTransformer(const nn::Scope& scope, const AlbertConfig& c)
      : Module(scope),
        num_hidden_layers_(c.num_hidden_layers),
        embedding_hidden_mapping_in_(scope / "embedding_hidden_mapping_in", c.embedding_size,
                                     c.hidden_size),
        albert_layer_groups_(scope / "albert_layer_groups", c.num_hidden_groups, c) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask) {
    Tensor hidden_states = embedding_hidden_mapping_in_(x);
    const auto groups = static_cast<std::int64_t>(albert_layer_groups_.size());
    for (std::int64_t i = 0; i < num_hidden_layers_; ++i) {
      const auto group_idx = static_cast<std::size_t>(i * groups / num_hidden_layers_);
      hidden_states = albert_layer_groups_[group_idx](hidden_states, attention_mask);
    }
    return hidden_states;
  }

 private:
  std::int64_t num_hidden_layers_;
  nn::Linear embedding_hidden_mapping_in_;
  nn::ModuleList<AlbertLayerGroup> albert_layer_groups_;
};

class AlbertModel : public nn::Module<AlbertModel> {
 public:
  AlbertModel(const nn::Scope& scope, const AlbertConfig& c)
      : Module(scope),
        embeddings(scope / "embeddings", c, c.embedding_size),
        attention_(c.attention),
        encoder_(scope / "encoder", c) {
    embeddings.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const Tensor embedding_output = embeddings(input_ids);
    const Tensor attention_mask = create_bidirectional_mask(
        {.attention = attention_, .attention_mask = given_mask}, embedding_output);
    return encoder_(embedding_output, attention_mask);
  }

  BertEmbeddings embeddings;

 private:
  AttentionImplementation attention_;
  AlbertTransformer encoder_;
};

class AlbertMLMHead : public nn::Module<AlbertMLMHead> {
 public:
  AlbertMLMHead(const nn::Scope& scope, const AlbertConfig& c)
      : Module(scope),
        layer_norm_(scope / "LayerNorm", c.embedding_size),
        bias_(scope.parameter("bias", {c.vocab_size})),
        dense_(scope / "dense", c.hidden_size, c.embedding_size),
        decoder_(scope / "decoder", c.embedding_size, c.vocab_size),
        activation_(c.hidden_act) {}

  void tie(const Tensor& table) {
    nn::tie(decoder_, table);
    nn::tie_bias(decoder_, bias_);
  }

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = dense_(x);
    hidden_states = activation_(hidden_states);
    hidden_states = layer_norm_(hidden_states);
    hidden_states = decoder_(hidden_states);
    return hidden_states;
  }

 private:
  nn::LayerNorm layer_norm_;
  Tensor bias_;
  nn::Linear dense_, decoder_;
  nn::Activation activation_;
};

std::unique_ptr<ClassifierHead> make_albert_head(const nn::Scope& root, const nn::Scope* body,
                                                 const ModelOptions& options,
                                                 const ClassifierWidths& widths) {
  if (options.task == Task::sequence_classification || options.task == Task::multiple_choice)
    return std::make_unique<PooledClassifier>(root, *body, widths, Pooler::projection);
  return make_token_head(root, options.task, widths);
}

ModelPointer build_albert(const Config& c, const ModelOptions& options) {
  const AlbertConfig config(c, options);
  if (!is_classification(options.task))
    return build_checked<EncoderForMaskedLM<AlbertModel, AlbertMLMHead>>(
        c, config, options, MaskedLmNames{"albert", "predictions"});
  ModelOptions classifier = options;
  classifier.classifier_dropout = c.number("classifier_dropout_prob", 0.1);
  if (!c.check()) return nullptr;
  return std::make_unique<EncoderForClassification<AlbertModel>>(
      options, classifier_widths(classifier, config.hidden_size, config.hidden_dropout_prob),
      make_albert_head, MadeFirst::body, "albert", config);
}

}  // namespace

extern const FamilyFacts kAlbert{
    .model_type = "albert",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_albert};

}  // namespace memtape::family
