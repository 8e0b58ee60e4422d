// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/loss.h"

#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/sum_of_bools.h"

namespace memtape::torchtune {
namespace {

/// The generated code of F.cross_entropy(logits.float(), labels, reduction="sum"): it reads the
/// logits as they are, and keeps them with the maximum and the logarithm of the sum of each row.
struct CompiledCrossEntropyBackward final : ghost::Node {
  CompiledCrossEntropyBackward() : Node("CompiledFunctionBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const ghost::Op op("triton_fused_nll_loss_backward", {});
    const Tensor scores = logits.unpack();
    out[0] = ghost::empty(scores.sizes(), scores.dtype());
    in[0].reset();
  }
  void release() override {
    for (ghost::Saved* saved : {&logits, &labels, &amax, &log}) saved->reset();
  }
  ghost::Saved logits, labels, amax, log;
};

Tensor compiled_cross_entropy(const Tensor& logits, const Tensor& labels) {
  const auto node = ghost::function_node<CompiledCrossEntropyBackward>({&logits});
  const ghost::GradMode no_grad(false);
  const ghost::Op op("triton_fused_log_softmax", {});
  const std::int64_t rows = labels.numel();
  const Tensor amax = ghost::empty({rows, 1}, DType::float32);
  const Tensor log = ghost::empty({rows, 1}, DType::float32);
  Tensor loss = ghost::empty({}, DType::float32);
  if (!node) return loss;
  node->logits.keep(logits);
  node->labels.keep(labels);
  node->amax.keep_result(amax);
  node->log.keep_result(log);
  ghost::set_history(loss, node);
  return loss;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const Levers& levers) {
  return levers.compiles ? compiled_cross_entropy(logits, labels)
                         : ghost::cross_entropy(logits.to_float(), labels);
}

Tensor chunked(std::vector<Tensor> logits, const Tensor& labels, const Levers& levers) {
  const Tensor total_elements = ghost::sum_of_bools(ghost::ne(labels, -100.0));
  std::vector<Tensor> label_chunks = labels.chunk(kOutputChunks, 1);
  for (Tensor& chunk : label_chunks) chunk = chunk.reshape({-1});
  for (Tensor& chunk : logits) chunk = chunk.reshape({-1, chunk.size(-1)});
  Tensor total_loss;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const Tensor loss = cross_entropy(logits[i], label_chunks[i], levers);
    if (total_loss.defined())
      ghost::add_(total_loss, loss);
    else
      total_loss = loss.add(0.0);
  }
  return total_loss.div(total_elements);
}

}  // namespace

Tensor loss_of(std::vector<Tensor> logits, const Tensor& labels, const Levers& levers) {
  if (levers.loss == Loss::ce_with_chunked_output)
    return chunked(std::move(logits), labels, levers);
  const Tensor scores = logits.front().reshape({-1, logits.front().size(-1)});
  logits.clear();
  return ghost::cross_entropy(scores, labels.reshape({-1}));
}

}  // namespace memtape::torchtune
