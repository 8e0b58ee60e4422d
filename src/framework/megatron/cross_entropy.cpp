// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/gpt_model.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

/// calculate_predicted_logits and what follows, in place on the float32 logits; what stays is the
/// softmax, the mask of targets that lie elsewhere, and the targets.
Tensor forward_pass(const Tensor& logits, const Tensor& target, ToSave& save) {
  const Tensor exp_logits = logits.to_float();
  const Dims per_token = target.sizes();
  const Tensor logits_max = empty(per_token, DType::float32);
  const Tensor target_mask = ghost::comparison("lt", target);
  const Tensor masked_target = target.clone();
  const Tensor predicted = empty(per_token, DType::float32);
  const Tensor sum = empty(per_token, DType::float32);
  const Tensor log_sum = empty(per_token, DType::float32);
  Tensor loss = empty(per_token, DType::float32);
  save = {exp_logits, target_mask, masked_target};
  return loss;
}

}  // namespace

Tensor vocab_parallel_cross_entropy(const Arguments&, const Tensor& logits, const Tensor& target) {
  const DType dtype = logits.dtype();
  return apply({.name = "_VocabParallelCrossEntropyBackward",
                .inputs = {logits},
                .forward = [&](ToSave& save) { return forward_pass(logits, target, save); },
                .backward =
                    [dtype](std::span<const Tensor> saved, const Tensor&, ghost::Gradients& in) {
                      const Tensor update = saved[1].to(DType::float32);
                      // The engine casts a gradient to its input's dtype (validate_outputs).
                      in[0] = saved[0].to(dtype);
                    }});
}

}  // namespace memtape::megatron
