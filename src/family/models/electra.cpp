// SPDX-License-Identifier: Apache-2.0
// ELECTRA with its generator's masked-language-model head or a classifier: BERT's encoder over
// embeddings of another width; mirroring transformers 5.17 models/electra/modeling_electra.py.
#include <optional>

#include "family/facts.h"
#include "family/losses/loss.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/encoder_classifier.h"
#include "ghost/ops/pointwise.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

struct ElectraConfig : BertConfig {
  ElectraConfig(const Config& c, const ModelOptions& options)
      : BertConfig(c, options,
                   {.hidden_size = 256, .num_attention_heads = 4, .intermediate_size = 1024}),
        embedding_size(c.dimension("embedding_size", 128)) {}
  std::int64_t embedding_size;
};

class ElectraModel : public nn::Module<ElectraModel> {
 public:
  ElectraModel(const nn::Scope& scope, const ElectraConfig& c)
      : Module(scope),
        embeddings(scope / "embeddings", c, c.embedding_size),
        attention_(c.attention) {
    if (c.embedding_size != c.hidden_size)
      embeddings_project_.emplace(scope / "embeddings_project", c.embedding_size, c.hidden_size);
    layer_.emplace(scope / "encoder" / "layer", c.num_hidden_layers,
                   static_cast<const BertConfig&>(c));
    embeddings.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& given_mask) {
    if (!given_mask.defined()) look_for_padding_before_5(input_ids);
    const bool shares_masks = ghost::has(changes::kEncoderMasksAreShared);
    const Tensor cache_position = cache_positions_of(input_ids);
    EncoderMask mask;
    if (!shares_masks)
      mask = extended_mask(attention_, given_mask, input_ids.sizes(),
                           embeddings.word_embeddings.weight.dtype());
    Tensor embedding_output = embeddings(input_ids);
    if (embeddings_project_) embedding_output = (*embeddings_project_)(embedding_output);
    if (shares_masks) mask = encoder_mask(attention_, given_mask, embedding_output);
    Tensor hidden_states = embedding_output;
    for (BertLayer& layer_module : *layer_)  // its encoder is not told of cache_position
      hidden_states = layer_module(hidden_states, mask.extended, Tensor());
    return hidden_states;
  }

  BertEmbeddings embeddings;

 private:
  AttentionImplementation attention_;
  std::optional<nn::Linear> embeddings_project_;
  std::optional<nn::ModuleList<BertLayer>> layer_;
};

class ElectraGeneratorPredictions : public nn::Module<ElectraGeneratorPredictions> {
 public:
  ElectraGeneratorPredictions(const nn::Scope& scope, const ElectraConfig& c)
      : Module(scope),
        layer_norm_(scope / "LayerNorm", c.embedding_size),
        dense_(scope / "dense", c.hidden_size, c.embedding_size) {}

  Tensor forward(const Tensor& generator_hidden_states) {
    Tensor hidden_states = dense_(generator_hidden_states);
    hidden_states = ghost::gelu(hidden_states);
    hidden_states = layer_norm_(hidden_states);
    return hidden_states;
  }

 private:
  nn::LayerNorm layer_norm_;
  nn::Linear dense_;
};

class ElectraForMaskedLM : public PretrainedModel {
 public:
  ElectraForMaskedLM(const ElectraConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        electra_(root() / "electra", c),
        generator_predictions_(root() / "generator_predictions", c),
        generator_lm_head_(root() / "generator_lm_head", c.embedding_size, c.vocab_size) {
    if (c.tie_word_embeddings)
      nn::tie(generator_lm_head_, electra_.embeddings.word_embeddings.weight);
  }

  std::string_view output_embeddings() const override { return "generator_lm_head"; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor generator_sequence_output = electra_(batch.input_ids, batch.attention_mask);
    Tensor prediction_scores = generator_predictions_(generator_sequence_output);
    prediction_scores = generator_lm_head_(prediction_scores);
    Tensor loss = masked_lm_loss(prediction_scores, batch, vocab_size_);
    return {std::move(loss), std::move(prediction_scores)};
  }

 private:
  std::int64_t vocab_size_;
  ElectraModel electra_;
  ElectraGeneratorPredictions generator_predictions_;
  nn::Linear generator_lm_head_;
};

std::unique_ptr<ClassifierHead> make_electra_head(const nn::Scope& root, const nn::Scope*,
                                                  const ModelOptions& options,
                                                  const ClassifierWidths& widths) {
  if (options.task == Task::sequence_classification)
    return std::make_unique<DenseClassifier>(root, widths, "gelu");
  return make_token_head(root, options.task, widths);
}

ModelPointer build_electra(const Config& c, const ModelOptions& options) {
  const ElectraConfig config(c, options);
  if (!is_classification(options.task))
    return build_checked<ElectraForMaskedLM>(c, config, options);
  if (!c.check()) return nullptr;
  using Model = EncoderForClassification<ElectraModel>;
  return std::make_unique<Model>(
      options, classifier_widths(options, config.hidden_size, config.hidden_dropout_prob),
      make_electra_head, MadeFirst::body, "electra", config);
}

}  // namespace

extern const FamilyFacts kElectra{
    .model_type = "electra",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::no,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_electra};

}  // namespace memtape::family
