// SPDX-License-Identifier: Apache-2.0
// RoBERTa, XLM-RoBERTa, CamemBERT and data2vec's text model with their masked-language-model head
// or a classifier: BERT's encoder, positions counted over the tokens that are no padding, and a
// head of one module; mirroring transformers 5.17 models/roberta/modeling_roberta.py,
// models/xlm_roberta/modeling_xlm_roberta.py, models/camembert/modeling_camembert.py and
// models/data2vec/modeling_data2vec_text.py.
#include <algorithm>
#include <optional>
#include <string>

#include "family/facts.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/encoder_masked_lm.h"
#include "family/parts/fairseq_positions.h"
#include "family/parts/position_ids.h"
#include "family/parts/roberta_head.h"
#include "ghost/ops/creation.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

class RobertaEmbeddings : public nn::Module<RobertaEmbeddings> {
 public:
  RobertaEmbeddings(const nn::Scope& scope, const BertConfig& c)
      : Module(scope),
        word_embeddings(scope / "word_embeddings", c.vocab_size, c.hidden_size),
        place_taken_(take_place(scope)),
        replaced_(made_to_be_replaced(scope, c)),
        token_type_embeddings_(scope / "token_type_embeddings", c.type_vocab_size, c.hidden_size),
        layer_norm_(scope / "LayerNorm", c.hidden_size),
        dropout_(scope / "dropout", c.hidden_dropout_prob),
        position_ids_(scope, c.max_position_embeddings),
        token_type_ids_(register_token_types(scope)),
        position_embeddings_(place_taken_ ? *place_taken_ : scope / "position_embeddings",
                             c.max_position_embeddings, c.hidden_size) {
    replaced_.reset();
  }

  void init_weights() const { position_ids_.init_weights(); }

  Tensor forward(const Tensor& input_ids) {
    const std::int64_t batch_size = input_ids.size(0), seq_length = input_ids.size(1);
    const Tensor position_ids = create_position_ids_from_input_ids(input_ids);
    const Tensor buffered_token_type_ids = gather_token_types(token_type_ids_, position_ids);
    const Tensor token_type_ids = buffered_token_type_ids.expand({batch_size, seq_length});
    const Tensor inputs_embeds = word_embeddings(input_ids);
    const Tensor token_type_embeddings = token_type_embeddings_(token_type_ids);
    Tensor embeddings = inputs_embeds.add(token_type_embeddings);
    const Tensor position_embeddings = position_embeddings_(position_ids);
    add_positions(embeddings, position_embeddings);
    embeddings = layer_norm_(embeddings);
    embeddings = dropout_(embeddings);
    return embeddings;
  }

  nn::Embedding word_embeddings;

 private:
  Tensor register_token_types(const nn::Scope& scope) const {
    const ghost::ScopeGuard guard(node().scope);
    Tensor token_type_ids = ghost::zeros(position_ids_.tensor().sizes(), DType::int64);
    scope.buffer("token_type_ids", token_type_ids);
    return token_type_ids;
  }

  /// Before kRobertaMakesPositionsOnce the positions' table is registered behind that of words,
  /// where a first one is made; the one that stays comes last.
  static std::optional<nn::Scope> take_place(const nn::Scope& scope) {
    if (ghost::has(changes::kRobertaMakesPositionsOnce)) return std::nullopt;
    return scope / "position_embeddings";
  }
  Tensor made_to_be_replaced(const nn::Scope& scope, const BertConfig& c) const {
    if (!place_taken_) return {};
    const ghost::ScopeGuard guard(node().scope);
    return ghost::empty({c.max_position_embeddings, c.hidden_size}, scope.dtype());
  }

  std::optional<nn::Scope> place_taken_;
  Tensor replaced_;
  nn::Embedding token_type_embeddings_;
  nn::LayerNorm layer_norm_;
  nn::Dropout dropout_;
  PositionIds position_ids_;
  Tensor token_type_ids_;
  nn::Embedding position_embeddings_;
};

/// nn.Embedding's padding_idx must be a row of its table.
void check_padding(const Config& c, const BertConfig& config) {
  const std::int64_t pad_token_id = c.integer("pad_token_id", 1);
  const std::int64_t rows = std::min(config.vocab_size, config.max_position_embeddings);
  if (pad_token_id < -rows || pad_token_id >= rows)
    c.fail("pad_token_id", "must be a row of both embedding tables, which have " +
                               std::to_string(rows) + " or more");
}

/// What the classes of the three differ in.
struct RobertaKind {
  std::int64_t vocab_size;
  MadeFirst first;
  const char* body = "roberta";
  bool ties_head = true;  ///< where the configuration does not say
};

ModelPointer build_roberta_of(const Config& c, const ModelOptions& options,
                              const RobertaKind& kind) {
  BertConfig config(c, options, {.vocab_size = kind.vocab_size});
  config.tie_word_embeddings = c.boolean("tie_word_embeddings", kind.ties_head);
  check_padding(c, config);
  if (!c.check()) return nullptr;
  if (!is_classification(options.task))
    return std::make_unique<EncoderForMaskedLM<BertModel<RobertaEmbeddings>, RobertaLMHead>>(
        config, options, MaskedLmNames{kind.body, "lm_head"}, kind.first);
  using Model = EncoderForClassification<BertModel<RobertaEmbeddings>>;
  return std::make_unique<Model>(
      options, classifier_widths(options, config.hidden_size, config.hidden_dropout_prob),
      make_dense_head, kind.first, kind.body, config);
}

ModelPointer build_roberta(const Config& c, const ModelOptions& options) {
  return build_roberta_of(c, options, {50265, MadeFirst::body});
}

RobertaKind xlm_roberta() {
  const bool head_first = ghost::has(changes::kXlmRobertaMakesItsHeadFirst);
  return {30522, head_first ? MadeFirst::head : MadeFirst::body};
}

ModelPointer build_xlm_roberta(const Config& c, const ModelOptions& options) {
  return build_roberta_of(c, options, xlm_roberta());
}

ModelPointer build_camembert(const Config& c, const ModelOptions& options) {
  RobertaKind kind = xlm_roberta();
  kind.ties_head = !ghost::has(changes::kCamembertSaysNoTie) || ghost::has(changes::kCamembertTies);
  return build_roberta_of(c, options, kind);
}

ModelPointer build_data2vec_text(const Config& c, const ModelOptions& options) {
  return build_roberta_of(c, options, {30522, MadeFirst::body, "data2vec_text"});
}

}  // namespace

extern const FamilyFacts kRoberta{
    .model_type = "roberta",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = counting_from_padding(kEncoder),
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_roberta};

extern const FamilyFacts kXlmRoberta{
    .model_type = "xlm-roberta",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = counting_from_padding(kEncoder),
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_xlm_roberta};

extern const FamilyFacts kCamembert{
    .model_type = "camembert",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = counting_from_padding(kEncoder),
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_camembert};

extern const FamilyFacts kData2vecText{
    .model_type = "data2vec-text",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::yes,
    .modeling = counting_from_padding(kEncoder),
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_data2vec_text};

}  // namespace memtape::family
