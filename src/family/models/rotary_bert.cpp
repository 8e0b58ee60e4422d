// SPDX-License-Identifier: Apache-2.0
// Nomic's, Jina's and Alibaba's (GTE) embedding models with BERT's or RoBERTa's heads: BERT with a
// rotation in place of a table of positions, and, in Nomic's and GTE's, a gated MLP; mirroring
// transformers 5.17 models/nomic_bert/modular_nomic_bert.py and
// models/jina_embeddings_v3/modular_jina_embeddings_v3.py, 5.24 models/gte/modular_gte.py.
#include <memory>
#include <optional>
#include <type_traits>

#include "family/facts.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/bert_head.h"
#include "family/parts/bidirectional.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/encoder_masked_lm.h"
#include "family/parts/llama_layer.h"
#include "family/parts/position_ids.h"
#include "family/parts/roberta_head.h"
#include "ghost/ops/creation.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

/// What attention and a gated MLP are told.
struct RotaryBertLayerConfig : DecoderConfig {
  RotaryBertLayerConfig(const Config& c, const ModelOptions& options, const BertConfig& bert,
                        bool has_bias)
      : DecoderConfig(c, options,
                      {.vocab_size = bert.vocab_size,
                       .hidden_size = bert.hidden_size,
                       .intermediate_size = bert.intermediate_size,
                       .num_hidden_layers = bert.num_hidden_layers,
                       .num_attention_heads = bert.num_attention_heads}) {
    num_key_value_heads = num_attention_heads;
    hidden_act = bert.hidden_act;
    attention_dropout = bert.attention_probs_dropout_prob;
    qkv_bias = o_bias = has_bias;
  }
};

AttentionCall attention_call(const RotaryBertLayerConfig& c) {
  AttentionCall call = bidirectional_call(c);
  call.eager_softmax = EagerSoftmax::plain;
  return call;
}

struct RotaryBertConfig : BertConfig {
  RotaryBertConfig(const Config& c, const ModelOptions& options, const BertDefaults& defaults,
                   std::int64_t default_positions, bool has_bias)
      : BertConfig(c, options, defaults), layer(c, options, *this, has_bias) {
    max_position_embeddings = c.dimension("max_position_embeddings", default_positions);
  }
  RotaryBertLayerConfig layer;
  bool hands_positions_on = false;  ///< to the layers, which do not ask for them
};

class RotaryBertEmbeddings : public nn::Module<RotaryBertEmbeddings> {
 public:
  RotaryBertEmbeddings(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size),
        token_type_embeddings_(scope / "token_type_embeddings", c.type_vocab_size, c.hidden_size),
        layer_norm_(scope / "LayerNorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob),
        position_ids_(scope, c.max_position_embeddings) {
    const ghost::ScopeGuard guard(node().scope);
    token_type_ids_ = ghost::zeros(position_ids_.tensor().sizes(), DType::int64);
    scope.buffer("token_type_ids", token_type_ids_);
  }

  void init_weights() const { position_ids_.init_weights(); }

  Tensor forward(const Tensor& input_ids, const Tensor& position_ids) {
    Tensor embeddings = word_embeddings(input_ids);
    Tensor buffered_token_type_ids, token_type_ids;
    if (ghost::has(changes::kRotaryBertMakesTokenTypes)) {
      token_type_ids = ghost::zeros(input_ids.sizes(), DType::int64);
    } else {
      buffered_token_type_ids = gather_token_types(token_type_ids_, position_ids);
      token_type_ids = buffered_token_type_ids.expand(input_ids.sizes());
    }
    const Tensor token_type_embeddings = token_type_embeddings_(token_type_ids);
    embeddings = embeddings.add(token_type_embeddings);
    embeddings = layer_norm_(embeddings);
    embeddings = dropout_(embeddings);
    return embeddings;
  }

  nn::Embedding word_embeddings;

 private:
  nn::Embedding token_type_embeddings_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
  PositionIds position_ids_;
  Tensor token_type_ids_;
};

/// Without the places and types of tokens that the others keep, nor, in gte-base-en-v1.5, a table
/// of types.
class GteEmbeddings : public nn::Module<GteEmbeddings> {
 public:
  GteEmbeddings(const nn::Scope& scope, const BertConfig& c)
      : Module(scope), word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size) {
    if (c.type_vocab_size > 0)
      token_type_embeddings_.emplace(scope / "token_type_embeddings", c.type_vocab_size,
                                     c.hidden_size);
    layer_norm_.emplace(scope / "LayerNorm", c.hidden_size);
    dropout_.emplace(scope / "dropout", c.hidden_dropout_prob);
  }

  void init_weights() const {}

  Tensor forward(const Tensor& input_ids, const Tensor&) {
    Tensor embeddings = word_embeddings(input_ids);
    Tensor token_type_ids;
    if (token_type_embeddings_) {
      token_type_ids = ghost::zeros(input_ids.sizes(), DType::int64);
      embeddings = embeddings.add((*token_type_embeddings_)(token_type_ids));
    }
    embeddings = (*layer_norm_)(embeddings);
    embeddings = (*dropout_)(embeddings);
    return embeddings;
  }

  nn::Embedding word_embeddings;

 private:
  std::optional<nn::Embedding> token_type_embeddings_;
  std::optional<nn::LayerNorm> layer_norm_;
  std::optional<nn::Dropout> dropout_;
};

/// GteMLP: gated, with dropout before its last product.
class GteMlp : public nn::Module<GteMlp> {
 public:
  GteMlp(const nn::Scope& scope, const RotaryBertConfig& c)
      : Module(scope),
        gate_proj_(scope / "gate_proj", c.hidden_size, c.intermediate_size, false),
        up_proj_(scope / "up_proj", c.hidden_size, c.intermediate_size, false),
        down_proj_(scope / "down_proj", c.intermediate_size, c.hidden_size),
        act_fn_(c.hidden_act),
        dropout_(scope / "dropout", c.hidden_dropout_prob) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = act_fn_(gate_proj_(x)).mul(up_proj_(x));
    hidden_states = dropout_(hidden_states);
    return down_proj_(hidden_states);
  }

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
  nn::Dropout dropout_;
};

/// JinaEmbeddingsV3MLP
class PlainMlp : public nn::Module<PlainMlp> {
 public:
  PlainMlp(const nn::Scope& scope, const DecoderConfig& c)
      : Module(scope),
        activation_fn_(c.hidden_act),
        fc1_(scope / "fc1", c.hidden_size, c.intermediate_size),
        fc2_(scope / "fc2", c.intermediate_size, c.hidden_size) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = fc1_(x);
    hidden_states = activation_fn_(hidden_states);
    hidden_states = fc2_(hidden_states);
    return hidden_states;
  }

 private:
  nn::Activation activation_fn_;
  nn::Linear fc1_, fc2_;
};

/// The MLPs of decoders ask for a decoder's settings.
template <class Mlp>
const auto& mlp_settings(const RotaryBertConfig& c) {
  if constexpr (std::is_constructible_v<Mlp, const nn::Scope&, const RotaryBertConfig&>)
    return c;
  else
    return c.layer;
}

template <class Mlp>
class RotaryBertLayer : public nn::GradientCheckpointingLayer<RotaryBertLayer<Mlp>> {
 public:
  RotaryBertLayer(const nn::Scope& scope, const RotaryBertConfig& c)
      : nn::GradientCheckpointingLayer<RotaryBertLayer>(scope),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        post_attention_dropout_(scope / "post_attention_dropout", c.hidden_dropout_prob),
        post_mlp_dropout_(scope / "post_mlp_dropout", c.hidden_dropout_prob),
        mlp_(scope / "mlp", mlp_settings<Mlp>(c)),
        self_attn_(scope / "self_attn", c.layer),
        post_mlp_layernorm_(scope / "post_mlp_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    const Tensor attention_output = self_attn_(x, attention_mask, position_embeddings);
    Tensor hidden_states = residual.add(post_attention_dropout_(attention_output));
    hidden_states = post_attention_layernorm_(hidden_states);

    residual = hidden_states;
    hidden_states = mlp_(hidden_states);
    hidden_states = residual.add(post_mlp_dropout_(hidden_states));
    hidden_states = post_mlp_layernorm_(hidden_states);
    return hidden_states;
  }

 private:
  nn::LayerNorm post_attention_layernorm_;
  nn::Dropout post_attention_dropout_, post_mlp_dropout_;
  Mlp mlp_;
  LlamaAttention self_attn_;
  nn::LayerNorm post_mlp_layernorm_;
};

template <class Mlp, class Embeddings = RotaryBertEmbeddings>
class RotaryBertModel : public nn::Module<RotaryBertModel<Mlp, Embeddings>> {
 public:
  RotaryBertModel(const nn::Scope& scope, const RotaryBertConfig& c)
      : nn::Module<RotaryBertModel>(scope),
        embeddings(scope / "embeddings", c),
        attention_(c.attention),
        hands_positions_on_(c.hands_positions_on),
        rotary_emb_(scope / "rotary_emb", c.layer.rope),
        layers_(scope / "layers", c.num_hidden_layers, c) {
    embeddings.init_weights();
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    const Tensor position_ids = ghost::arange(input_ids.size(1), DType::int64).unsqueeze(0);
    const Tensor embedding_output = embeddings(input_ids, position_ids);
    const Tensor attention_mask = create_bidirectional_mask(
        {.attention = attention_, .attention_mask = given_mask}, embedding_output);
    Tensor hidden_states = embedding_output;
    const CosSin position_embeddings = rotary_emb_(embedding_output, position_ids);
    for (RotaryBertLayer<Mlp>& encoder_layer : layers_)
      hidden_states = encoder_layer(hidden_states, attention_mask, position_embeddings,
                                    hands_positions_on_ ? position_ids : Tensor());
    return hidden_states;
  }

  Embeddings embeddings;

 private:
  AttentionImplementation attention_;
  bool hands_positions_on_;
  RotaryEmbedding rotary_emb_;
  nn::ModuleList<RotaryBertLayer<Mlp>> layers_;
};

std::unique_ptr<ClassifierHead> make_nomic_head(const nn::Scope& root, const nn::Scope* body,
                                                const ModelOptions& options,
                                                const ClassifierWidths& widths) {
  if (options.task == Task::sequence_classification)
    return std::make_unique<PooledClassifier>(root, *body, widths);
  return make_token_head(root, options.task, widths);
}

template <class Model, class MakeHead>
ModelPointer build_classifier(const Config& c, const RotaryBertConfig& config,
                              const ModelOptions& options, const MakeHead& make_head,
                              MadeFirst first, const char* body) {
  if (!c.check()) return nullptr;
  return std::make_unique<EncoderForClassification<Model>>(
      options, classifier_widths(options, config.hidden_size, config.hidden_dropout_prob),
      make_head, first, body, config);
}

ModelPointer build_nomic_bert(const Config& c, const ModelOptions& options) {
  using Model = RotaryBertModel<LlamaMLP>;
  RotaryBertConfig config(c, options, {.vocab_size = 30528, .hidden_act = "silu", .dropout = 0.0},
                          2048, false);
  config.hands_positions_on = true;
  if (is_classification(options.task))
    return build_classifier<Model>(c, config, options, make_nomic_head, MadeFirst::body,
                                   "nomic_bert");
  return build_checked<EncoderForMaskedLM<Model, BertLMPredictionHead>>(
      c, config, options, MaskedLmNames{"nomic_bert", "cls.predictions"});
}

ModelPointer build_jina_embeddings_v3(const Config& c, const ModelOptions& options) {
  using Model = RotaryBertModel<PlainMlp>;
  const RotaryBertConfig config(c, options,
                                {.vocab_size = 250002,
                                 .hidden_size = 1024,
                                 .num_hidden_layers = 24,
                                 .num_attention_heads = 16,
                                 .intermediate_size = 4096,
                                 .type_vocab_size = 1},
                                8194, true);
  if (is_classification(options.task))
    return build_classifier<Model>(c, config, options, make_dense_head, MadeFirst::head, "roberta");
  return build_checked<EncoderForMaskedLM<Model, RobertaLMHead>>(
      c, config, options, MaskedLmNames{"roberta", "lm_head"}, MadeFirst::head);
}

ModelPointer build_gte(const Config& c, const ModelOptions& options) {
  using Model = RotaryBertModel<GteMlp, GteEmbeddings>;
  RotaryBertConfig config(c, options, {.vocab_size = 250048, .type_vocab_size = 0}, 8192, true);
  config.type_vocab_size = c.count("type_vocab_size", 1);
  config.attention_probs_dropout_prob = c.number("attention_probs_dropout_prob", 0.0);
  config.layer.attention_dropout = config.attention_probs_dropout_prob;
  if (is_classification(options.task))
    return build_classifier<Model>(c, config, options, make_nomic_head, MadeFirst::body, "gte");
  return build_checked<EncoderForMaskedLM<Model, GteLMHead>>(c, config, options,
                                                             MaskedLmNames{"gte", "lm_head"});
}

}  // namespace

extern const FamilyFacts kNomicBert{.model_type = "nomic_bert",
                                    .task = Task::masked_lm,
                                    .first = {5, 5, 0},
                                    .ties_head = Known::yes,
                                    .has_bos = Known::no,
                                    .modeling = kEncoder,
                                    .classifiers = {.sequences = true, .tokens = true},
                                    .build = build_nomic_bert};

extern const FamilyFacts kJinaEmbeddingsV3{
    .model_type = "jina_embeddings_v3",
    .task = Task::masked_lm,
    .first = {5, 4, 0},
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_jina_embeddings_v3};

extern const FamilyFacts kGte{.model_type = "gte",
                              .task = Task::masked_lm,
                              .first = {5, 18, 0},
                              .ties_head = Known::yes,
                              .has_bos = Known::no,
                              .modeling = kEncoder,
                              .classifiers = {.sequences = true, .tokens = true},
                              .build = build_gte};

}  // namespace memtape::family
