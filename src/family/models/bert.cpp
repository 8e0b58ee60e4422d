// SPDX-License-Identifier: Apache-2.0
// BERT with its masked-language-model head and its classifiers: three embedding tables, norms after
// each branch, no mask for whole batches, a decoder whose weight and bias are tied; and ERNIE, the
// same. Mirroring transformers 5.17 models/bert/modeling_bert.py and models/ernie/modular_ernie.py.
#include "family/facts.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/bert_head.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/encoder_masked_lm.h"

namespace memtape::family {
namespace {

std::unique_ptr<ClassifierHead> make_bert_head(const nn::Scope& root, const nn::Scope* body,
                                               const ModelOptions& options,
                                               const ClassifierWidths& widths) {
  if (options.task == Task::sequence_classification || options.task == Task::multiple_choice)
    return std::make_unique<PooledClassifier>(root, *body, widths);
  return make_token_head(root, options.task, widths);
}

ModelPointer build_named(const Config& c, const ModelOptions& options, const char* name) {
  const BertConfig config(c, options, {});
  if (!is_classification(options.task))
    return build_checked<EncoderForMaskedLM<BertModel<BertEmbeddings>, BertLMPredictionHead>>(
        c, config, options, MaskedLmNames{name, "cls.predictions"});
  if (!c.check()) return nullptr;
  using Model = EncoderForClassification<BertModel<BertEmbeddings>>;
  return std::make_unique<Model>(
      options, classifier_widths(options, config.hidden_size, config.hidden_dropout_prob),
      make_bert_head, MadeFirst::body, name, config);
}

ModelPointer build_bert(const Config& c, const ModelOptions& options) {
  return build_named(c, options, "bert");
}

ModelPointer build_ernie(const Config& c, const ModelOptions& options) {
  if (c.boolean("use_task_id", false))
    c.fail("use_task_id", "embeddings of tasks are not modelled");
  return build_named(c, options, "ernie");
}

}  // namespace

extern const FamilyFacts kBert{
    .model_type = "bert",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::no,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_bert};

extern const FamilyFacts kErnie{
    .model_type = "ernie",
    .task = Task::masked_lm,
    .ties_head = Known::yes,
    .has_bos = Known::no,
    .modeling = kEncoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true, .choices = true},
    .build = build_ernie};

}  // namespace memtape::family
