// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/language_model.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

/// torch.max(logits, dim=-1)[0]: the places of the largest are found, too.
Tensor largest(const Dims& per_token) {
  Tensor values = empty(per_token, DType::float32);
  const Tensor indices = empty(per_token, DType::int64);
  return values;
}

/// calculate_predicted_logits and what follows, in place on the float32 logits; what stays is the
/// softmax, the mask of targets that lie elsewhere, and the targets.
Tensor forward_pass(const Tensor& logits, const Tensor& target, bool compiled, ToSave& save) {
  Tensor sum, predicted, logits_max;  // which go in Python's order, the last first
  const Tensor exp_logits = logits.to_float();
  const Dims per_token = target.sizes();
  logits_max = largest(per_token);
  // Compiled (fused_cross_entropy.py), what is written in place becomes a new tensor that is copied
  // back at the end of the graph.
  if (compiled) const Tensor functional = empty(exp_logits.sizes(), DType::float32);
  const Tensor target_mask = outside_of_shard(target), masked_target = counted_from_shard(target);
  {
    const Tensor rows = ghost::arange(target.numel(), DType::int64);
    predicted = empty(per_token, DType::float32);
    predicted = predicted.clone();
    sum = empty(per_token, DType::float32);
  }
  const Tensor log_sum = empty(per_token, DType::float32);
  Tensor loss = empty(per_token, DType::float32);
  save = {exp_logits, target_mask, masked_target};
  return loss;
}

/// grad_2d[arange_1d, masked_target_1d] -= softmax_update.
void subtract_targets(const Tensor& target_mask) {
  Tensor update;
  const Tensor rows = ghost::arange(target_mask.numel(), DType::int64);
  update = target_mask.to(DType::float32);
  update = ghost::rsub(1.0, update);
  const Tensor picked = empty(target_mask.sizes(), DType::float32);
}

/// Transformer Engine's parallel_cross_entropy (common/triton/cross_entropy.py): the kernel leaves
/// the gradient in the place of the logits.
Tensor te_cross_entropy(const Tensor& logits, const Tensor& target) {
  return apply({.name = "CrossEntropyFunctionBackward",
                .inputs = {logits},
                .forward =
                    [&](ToSave& save) {
                      const Tensor partials = empty({target.numel() * 3}, DType::float32);
                      save = {logits};
                      return empty(target.sizes(), DType::float32);
                    },
                .backward = [](std::span<const Tensor> saved, const Tensor&,
                               ghost::Gradients& in) { in[0] = saved[0]; }});
}

}  // namespace

Tensor vocab_parallel_cross_entropy(const Arguments& a, const Tensor& logits,
                                    const Tensor& target) {
  if (a.cross_entropy_loss_fusion && a.cross_entropy_te) return te_cross_entropy(logits, target);
  const DType dtype = logits.dtype();
  const bool compiled = a.cross_entropy_loss_fusion && a.fused_kernels;
  return apply(
      {.name = "_VocabParallelCrossEntropyBackward",
       .inputs = {logits},
       .forward = [&](ToSave& save) { return forward_pass(logits, target, compiled, save); },
       .backward =
           [dtype](std::span<const Tensor> saved, const Tensor&, ghost::Gradients& in) {
             subtract_targets(saved[1]);
             // The engine casts a gradient to its input's dtype (validate_outputs).
             in[0] = saved[0].to(dtype);
           }});
}

}  // namespace memtape::megatron
