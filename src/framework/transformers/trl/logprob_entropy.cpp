// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/logprob_entropy.h"

#include "framework/transformers/trl/row_log_softmax.h"
#include "ghost/autograd/function.h"
#include "ghost/ops/creation.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

struct LogProbEntropyBackward final : ghost::Node {
  LogProbEntropyBackward() : Node("_LogProbEntropyFunctionBackward") {}
  void apply(ghost::Gradients&, ghost::Gradients& out) override {
    const Tensor kept = logits.unpack();
    const ghost::Op op("logprob_entropy_backward", {});
    if (wants(0)) out[0] = ghost::empty(kept.sizes(), kept.dtype());
  }
  void release() override {
    for (ghost::Saved* saved : {&logits, &index, &log_z, &expected_logit}) saved->reset();
  }
  ghost::Saved logits, index, log_z, expected_logit;
};

}  // namespace

Tensor selective_log_softmax(const Tensor& logits, const Tensor& index) {
  if (!ghost::has(changes::kTrlFusesLogSoftmax)) return row_log_softmax(logits, index);
  const auto node = ghost::function_node<LogProbEntropyBackward>({&logits});
  const ghost::Op op("logprob_entropy", {});
  const auto floats = [&] { return ghost::empty(index.sizes(), DType::float32); };
  Tensor logprobs = floats();
  const Tensor entropy = floats(), log_z = floats(), expected_logit = floats();
  if (!node) return logprobs;
  node->logits.keep(logits);
  node->index.keep(index);
  node->log_z.keep(log_z);
  node->expected_logit.keep(expected_logit);
  set_history(logprobs, node);
  return logprobs;
}

}  // namespace memtape::transformers::trl
