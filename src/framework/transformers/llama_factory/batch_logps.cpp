// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/llama_factory/batch_logps.h"

#include <utility>

#include "ghost/ops/comparisons.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"

namespace memtape::transformers::llama_factory {

using ghost::Tensor;

family::Batch detached_clone(const family::Batch& inputs) {
  family::Batch batch;
  batch.input_ids = inputs.input_ids.clone();
  if (inputs.attention_mask.defined()) batch.attention_mask = inputs.attention_mask.clone();
  batch.labels = inputs.labels.clone();
  return batch;
}

Logps get_batch_logps(const Tensor& all_logits, const Tensor& all_labels) {
  const Tensor labels = all_labels.slice(1, 1, all_labels.size(1)).clone();
  const Tensor logits = all_logits.slice(1, 0, all_logits.size(1) - 1);
  const Tensor loss_mask = ghost::ne(labels, ghost::kIgnoreIndex);
  {
    const Tensor dummy = ghost::eq(labels, ghost::kIgnoreIndex);
  }
  const Tensor per_token_logps =
      ghost::gather(ghost::log_softmax(logits, DType::float32), labels.unsqueeze(2)).squeeze(2);
  Tensor valid_length = sum_of_bools(loss_mask, -1);
  return {per_token_logps.mul(loss_mask).sum(-1), std::move(valid_length)};
}

}  // namespace memtape::transformers::llama_factory
