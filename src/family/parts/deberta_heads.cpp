// SPDX-License-Identifier: Apache-2.0
#include "family/parts/deberta_heads.h"

#include "ghost/ops/comparisons.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/views.h"

namespace memtape::family {

ContextPoolerConfig::ContextPoolerConfig(const Config& c, const BertConfig& config)
    : size(c.dimension("pooler_hidden_size", config.hidden_size)),
      activation(family::activation(c, "pooler_hidden_act", "gelu")),
      dropout(c.number("pooler_dropout", 0.0)) {
  if (size != config.hidden_size) c.fail("pooler_hidden_size", "must be hidden_size");
}

ContextPooler::ContextPooler(const nn::Scope& scope, const ContextPoolerConfig& c)
    : Module(scope),
      dense_(scope / "dense", c.size, c.size),
      dropout_(scope / "dropout", c.dropout),
      activation_(c.activation) {}

Tensor ContextPooler::forward(const Tensor& hidden_states) {
  Tensor context_token = ghost::indexed_by_colons(hidden_states, 1).select(1, 0);
  context_token = dropout_(context_token);
  Tensor pooled_output = dense_(context_token);
  pooled_output = activation_(pooled_output);
  return pooled_output;
}

ContextClassifier::ContextClassifier(const nn::Scope& root, const ClassifierWidths& widths,
                                     const ContextPoolerConfig& pooler, Task task)
    : task_(task),
      pooler_(root / "pooler", pooler),
      classifier_(root / "classifier", widths.hidden_size, widths.num_labels),
      dropout_(root / "dropout", widths.dropout) {}

Tensor ContextClassifier::logits(Tensor& features, const Tensor&) {
  features = pooler_(features);
  features = dropout_(features);
  return classifier_(features);
}

ModelOutput ContextClassifier::output(Tensor logits, const Batch& batch) {
  if (task_ == Task::multiple_choice || !batch.labels.defined())
    return ClassifierHead::output(std::move(logits), batch);
  const std::int64_t texts = logits.size(0);
  const Tensor label_index = ghost::nonzero(ghost::ge(batch.labels, 0), texts);
  const Tensor labeled_logits = ghost::gather(logits, label_index.expand({texts, logits.size(1)}));
  const Tensor labels = ghost::gather(batch.labels, label_index.view({-1}));
  Tensor loss = ghost::cross_entropy(labeled_logits.to_float(), labels);
  return {std::move(loss), std::move(logits)};
}

}  // namespace memtape::family
