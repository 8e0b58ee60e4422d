// SPDX-License-Identifier: Apache-2.0
// NamedHead: the head that config.json names. `architectures` holds the class that saved the
// checkpoint: a reranker is an XLMRobertaForSequenceClassification, an embedder an XLMRobertaModel,
// which has no head (transformers 5.17, models/auto/modeling_auto.py).
#pragma once

#include <optional>
#include <string>

#include "family/task.h"
#include "model/config.h"

namespace memtape::family {

struct NamedHead {
  Task task = Task::causal_lm;
  std::string architecture;
  /// Of a bare ...Model: it is answered with the classifier of sequences, which adds one row.
  bool has_none = false;
};

/// Empty where `architectures` names none of the family's heads, or the one that it has by default.
std::optional<NamedHead> named_head(const Config& config);

}  // namespace memtape::family
