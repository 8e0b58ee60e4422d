// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/chunked_logprob.h"

#include <algorithm>
#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/matmul.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Gradients;
using ghost::Op;
using ghost::Tensor;

constexpr std::int64_t kTokens = 4096;       ///< TOKEN_CHUNK_SIZE
constexpr std::int64_t kVocabulary = 32768;  ///< _CHUNKED_LOGPROB_CHUNK_SIZE

Tensor floats(std::int64_t count) { return ghost::empty({count}, DType::float32); }

Tensor tile_buffer(std::int64_t tokens, DType dtype) {
  return ghost::empty({std::min(tokens, kTokens), kVocabulary}, dtype);
}

/// The operands of a tile in the compute dtype. Python's locals: those of the last tile live until
/// the pass returns.
struct Operands {
  Tensor hidden_chunk, weight_chunk;
};

/// Runs over all tiles as both passes do: a chunk of tokens, and a chunk of the head that is cast
/// for each of them, before the last one is let go.
Operands for_tiles(const Tensor& hidden, const Tensor& weight, DType dtype,
                   bool keeps_weight_chunk) {
  Operands operands;
  auto& [hidden_chunk, weight_chunk] = operands;
  for (std::int64_t token = 0; token < hidden.size(0); token += kTokens) {
    const std::int64_t token_end = std::min(token + kTokens, hidden.size(0));
    hidden_chunk = hidden.slice(0, token, token_end).to(dtype);
    for (std::int64_t start = 0; start < weight.size(0); start += kVocabulary) {
      const std::int64_t end = std::min(start + kVocabulary, weight.size(0));
      weight_chunk = weight.slice(0, start, end).to(dtype);
      ghost::use_cublas();
      if (!keeps_weight_chunk) weight_chunk.reset();
    }
  }
  return operands;
}

/// bias[start:end].to(dtype) is too small to matter but for its dtype's sake; it lives for one
/// tile.
struct ChunkedLogProbBackward final : ghost::Node {
  explicit ChunkedLogProbBackward(DType dtype)
      : Node("ChunkedLogProbFunctionBackward"), compute_dtype(dtype) {}
  void apply(Gradients&, Gradients& out) override {
    const Tensor kept_hidden = hidden.unpack(), kept_weight = weight.unpack(),
                 kept_bias = bias.unpack();
    Tensor grads[3];
    std::shared_ptr<void> whole = gather_head ? gather_head() : nullptr;
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor& operand = i == 0 ? kept_hidden : i == 1 ? kept_weight : kept_bias;
      if (wants(i)) grads[i] = ghost::zeros(operand.sizes(), DType::float32);
    }
    const Tensor tiles = tile_buffer(kept_hidden.size(0), compute_dtype);
    const Operands last = for_tiles(kept_hidden, kept_weight, compute_dtype, true);
    whole.reset();
    if (wants(0)) out[0] = grads[0].to(kept_hidden.dtype());
    if (wants(1)) out[1] = grads[1].to(kept_weight.dtype());
    if (wants(2)) out[2] = grads[2].to(kept_bias.dtype());
  }
  void release() override {
    for (ghost::Saved* saved : {&hidden, &weight, &bias, &targets, &log_z, &entropy})
      saved->reset();
  }
  ghost::Saved hidden, weight, bias, targets, log_z, entropy;
  DType compute_dtype;
  GatherHead gather_head;
};

}  // namespace

LogProbs chunked_logprob(const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                         const Tensor& targets, LogProbOutputs outputs,
                         const GatherHead& gather_head) {
  const ghost::Autocast& autocast = ghost::session().autocast;
  const DType dtype = autocast.enabled ? autocast.dtype : hidden.dtype();
  const auto node = ghost::function_node<ChunkedLogProbBackward>({&hidden, &weight, &bias}, dtype);
  const Op op("chunked_logprob", {});
  LogProbs out;
  {
    const ghost::GradMode no_grad(false);
    const std::int64_t n = hidden.size(0);
    const Tensor running_max = floats(n), sum_exp = floats(n), x_sum_exp = floats(n),
                 sq_sum_exp = floats(n), z_sum = floats(n), max_before_target = floats(n),
                 target_logit = floats(n);
    const Tensor tiles = tile_buffer(n, dtype);
    const Operands last = for_tiles(hidden, weight, dtype, false);
    const Tensor log_z = running_max.add(ghost::log(sum_exp));
    out.log_probs = target_logit.sub(log_z);
    if (outputs.entropy) out.entropy = log_z.sub(x_sum_exp.div(sum_exp));
    if (outputs.mean_logits) out.mean_logits = z_sum.div(1.0);
    if (outputs.is_top1) {
      const Tensor reaches = ghost::ge(target_logit, running_max);
      const Tensor is_first = ghost::gt(target_logit, max_before_target);
      out.is_top1 = ghost::bitwise_and(reaches, is_first);
    }
    if (node) {
      node->hidden.keep(hidden);
      node->weight.keep(weight);
      if (bias.defined()) node->bias.keep(bias);
      node->targets.keep(targets);
      node->log_z.keep(log_z);
      if (outputs.entropy) node->entropy.keep_result(out.entropy);
      node->gather_head = gather_head;
    }
  }
  if (node) {
    set_history(out.log_probs, node);
    if (outputs.entropy) set_history(out.entropy, node);
  }
  return out;
}

}  // namespace memtape::transformers::trl
