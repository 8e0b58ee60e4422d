// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/loss.h"

#include <utility>
#include <vector>

#include "framework/torch_tp/parallel_loss.h"
#include "ghost/autograd/function.h"
#include "ghost/ops/loss.h"
#include "ghost/session.h"

namespace memtape::torchtitan {
namespace {

using ghost::Tensor;

Tensor cross_entropy_loss(const Tensor& pred, const Tensor& labels, const JobConfig& job) {
  const Tensor flat = labels.reshape({-1});
  Tensor scores = pred.reshape({-1, pred.size(-1)});
  if (job.has(changes::kTitanFloatsInLoss)) scores = std::move(scores).to_float();
  return job.loss_parallel ? torch_tp::parallel_cross_entropy(std::move(scores), flat)
                           : ghost::cross_entropy(std::move(scores), flat);
}

/// chunked_cross_entropy_loss
Tensor chunked(const Tensor& logits, const Tensor& labels, const JobConfig& job) {
  const std::vector<Tensor> pieces = logits.chunk(job.loss_chunks, 1),
                            label_pieces = labels.chunk(job.loss_chunks, 1);
  Tensor total;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Tensor loss = cross_entropy_loss(pieces[i], label_pieces[i], job);
    total = total.defined() ? std::move(total).add(loss) : loss.add(1.0);
  }
  return std::move(total).div(2.0);
}

/// The compiled loss: inductor fuses the cast, the softmax and the pick into kernels that read the
/// bfloat16 logits. Kept for backward are those, and per row the maximum and the logarithm of the
/// sum; backward writes the gradient of the logits in one kernel.
struct CompiledLossBackward final : ghost::Node {
  CompiledLossBackward() : Node("CompiledFunctionBackward") {}
  void apply(ghost::Gradients&, ghost::Gradients& out) override {
    const Tensor logits = primal.unpack();
    const ghost::Op op("triton_fused_nll_loss_backward", {});
    out[0] = ghost::empty(logits.sizes(), logits.dtype());
  }
  void release() override {
    primal.reset();
    labels.reset();
    row_max.reset();
    row_log.reset();
    total_weight.reset();
  }
  ghost::Saved primal, labels, row_max, row_log, total_weight;
};

Tensor compiled(const Tensor& logits, const Tensor& labels) {
  const auto node = ghost::function_node<CompiledLossBackward>({&logits});
  const ghost::GradMode no_grad(false);
  const ghost::Op op("triton_fused_log_softmax", {});
  const std::int64_t rows = labels.numel();
  const Tensor row_max = ghost::empty({rows, 1}, DType::float32);
  const Tensor row_log = ghost::empty({rows, 1}, DType::float32);
  Tensor loss = ghost::empty({}, DType::float32);
  const Tensor total_weight = ghost::empty({}, DType::float32);
  if (!node) return loss;
  node->primal.keep(logits);
  node->labels.keep(labels);
  node->row_max.keep_result(row_max);
  node->row_log.keep_result(row_log);
  node->total_weight.keep_result(total_weight);
  ghost::set_history(loss, node);
  return loss;
}

}  // namespace

Tensor loss_of(const Tensor& logits, const Tensor& labels, const JobConfig& job) {
  if (job.loss == LossKind::chunked) return chunked(logits, labels, job);
  if (job.compiles_loss && !job.loss_parallel) return compiled(logits, labels);
  return cross_entropy_loss(logits, labels, job);
}

}  // namespace memtape::torchtitan
