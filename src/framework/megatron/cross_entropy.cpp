// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/language_model.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

/// calculate_predicted_logits and what follows, in place on the float32 logits; what stays is the
/// softmax, the mask of targets that lie elsewhere, and the targets.
Tensor forward_pass(const Tensor& logits, const Tensor& target, bool compiled, ToSave& save) {
  const Tensor exp_logits = logits.to_float();
  const Dims per_token = target.sizes();
  const Tensor logits_max = empty(per_token, DType::float32);
  // Compiled (fused_cross_entropy.py), what is written in place becomes a new tensor that is copied
  // back at the end of the graph.
  if (compiled) const Tensor functional = empty(exp_logits.sizes(), DType::float32);
  const Tensor target_mask = ghost::comparison("lt", target);
  const Tensor masked_target = target.clone();
  const Tensor predicted = empty(per_token, DType::float32);
  const Tensor sum = empty(per_token, DType::float32);
  const Tensor log_sum = empty(per_token, DType::float32);
  Tensor loss = empty(per_token, DType::float32);
  save = {exp_logits, target_mask, masked_target};
  return loss;
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
             const Tensor update = saved[1].to(DType::float32);
             // The engine casts a gradient to its input's dtype (validate_outputs).
             in[0] = saved[0].to(dtype);
           }});
}

}  // namespace memtape::megatron
