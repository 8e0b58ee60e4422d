// SPDX-License-Identifier: Apache-2.0
#include "family/losses/masked_lm_loss_function.h"

#include "family/losses/loss.h"

namespace memtape::family {

Tensor for_masked_lm_loss(const Tensor& model_logits, const Batch& batch, std::int64_t vocab_size) {
  const Tensor logits = model_logits.to_float();
  Tensor loss = masked_lm_loss(logits, batch, vocab_size);
  if (loss.defined() && batch.num_items_in_batch.defined())
    loss = loss.div(batch.num_items_in_batch);
  return loss;
}

}  // namespace memtape::family
