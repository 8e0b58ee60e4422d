// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trainer_objective.h"

#include "framework/transformers/label_smoother.h"
#include "ghost/ops/pointwise.h"

namespace memtape::transformers {

using ghost::Tensor;

family::ModelOutput TrainerObjective::compute(const family::Batch& inputs) {
  family::Batch model_inputs = inputs;
  if (smooths_labels_) model_inputs.labels.reset();  // the smoother keeps them for itself
  const family::ModelOutput outputs = model_(model_inputs);
  Tensor loss = outputs.loss;
  if (smooths_labels_)
    loss = label_smoother(outputs.logits, inputs.labels, inputs.num_items_in_batch, shifts_labels_);
  if (averages_tokens_ && inputs.num_items_in_batch.defined()) ghost::mul_(loss, 1.0);
  return {loss, outputs.logits, outputs.encoder_last_hidden_state};
}

}  // namespace memtape::transformers
