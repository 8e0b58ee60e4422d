// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/liger/fused_linear_cross_entropy.h"

#include <algorithm>
#include <bit>

#include "ghost/autograd/function.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers::liger {
namespace {

using ghost::Gradients;
using ghost::Op;

/// torch.equal(grad_output, torch.tensor(1.0)): eq, then all.
void compare_with_one(const Tensor& gradient) {
  const Tensor one = ghost::full({}, DType::float32);
  const Tensor equal = ghost::eq(gradient, one);
  const Tensor all = ghost::all(equal);
}

struct FusedLossBackward final : ghost::Node {
  FusedLossBackward() : Node("LigerFusedLinearCrossEntropyFunctionBackward") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor input = grad_input.unpack(), weight = grad_weight.unpack();
    compare_with_one(in[0]);
    out[0] = input;
    if (wants(1)) out[1] = weight;
  }
  void release() override {
    grad_input.reset();
    grad_weight.reset();
  }
  ghost::Saved grad_input, grad_weight;
};

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// _can_use_mm_out: `@` would take these very operands.
bool multiplies_into_buffer(const Tensor& input, const Tensor& weight) {
  const ghost::Autocast& autocast = ghost::session().autocast;
  return input.dtype() == weight.dtype() && (!autocast.enabled || input.dtype() == autocast.dtype);
}

/// Tokens in a chunk: logits take about as much memory as the hidden states of all tokens.
std::int64_t chunk_size(std::int64_t tokens, std::int64_t hidden, std::int64_t vocabulary) {
  const std::int64_t factor = ceil_div(vocabulary, hidden);
  const auto wanted = static_cast<std::uint64_t>(ceil_div(tokens, factor));
  return std::min(static_cast<std::int64_t>(std::bit_ceil(wanted)), tokens);
}

class FusedLoss {
 public:
  FusedLoss(const Tensor& input, const Tensor& weight)
      : input_(input),
        weight_(weight),
        into_buffer_(multiplies_into_buffer(input, weight)),
        chunk_(chunk_size(input.size(0), input.size(1), weight.size(0))) {}

  Tensor run(const Tensor& target, bool wants_input, bool wants_weight) {
    grad_input = ghost::zeros_like(input_);
    if (wants_input && wants_weight) grad_weight = ghost::zeros_like(weight_);
    const Tensor losses = ghost::zeros({input_.size(0)}, DType::float32);
    const Tensor target_mask = ghost::ne(target, ghost::kIgnoreIndex);
    count(target_mask);
    if (into_buffer_) logits_ = ghost::empty({chunk_, weight_.size(0)}, input_.dtype());
    for (std::int64_t start = 0; start < input_.size(0); start += chunk_)
      add_chunk(input_.slice(0, start, std::min(start + chunk_, input_.size(0))), wants_input);
    logits_.reset();
    return ghost::sum_all(losses);
  }

  Tensor grad_input, grad_weight;

 private:
  /// mask.sum().item()
  static void count(const Tensor& mask) {
    const Op op("sum", {});
    const Tensor sum = ghost::empty({}, DType::int64);
    const Tensor as_int64 = mask.to(DType::int64);
  }

  void add_chunk(const Tensor& input, bool wants_input) {
    if (into_buffer_) ghost::use_cublas();
    const Tensor logits =
        into_buffer_ ? logits_.slice(0, 0, input.size(0)) : input.matmul(weight_.t());
    if (!wants_input) return;
    if (!into_buffer_) const Tensor product = logits.matmul(weight_);
    if (grad_weight.defined()) add_to_weight(logits, input);
  }

  /// addmm into the gradient from compute capability 8.0 on, where types agree or it is float32.
  void add_to_weight(const Tensor& logits, const Tensor& input) const {
    const bool adds_in_place =
        ghost::session().device.major >= 8 && is_half(logits.dtype()) &&
        (grad_weight.dtype() == DType::float32 || grad_weight.dtype() == logits.dtype());
    if (adds_in_place) {
      const Tensor same_type = input.to(logits.dtype());
      return;
    }
    const Tensor product = ghost::mm(logits.t(), input).to_float();
  }

  const Tensor& input_;
  const Tensor& weight_;
  bool into_buffer_;
  std::int64_t chunk_;
  Tensor logits_;
};

}  // namespace

Tensor fused_linear_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& target) {
  const auto node = ghost::function_node<FusedLossBackward>({&input, &weight});
  const Op op("fused_linear_cross_entropy", {});
  Tensor loss;
  {
    const ghost::GradMode no_grad(false);
    FusedLoss fused(input, weight);
    loss = fused.run(target, input.requires_grad(), weight.requires_grad());
    if (node) {
      node->grad_input.keep(fused.grad_input);
      if (fused.grad_weight.defined()) node->grad_weight.keep(fused.grad_weight);
    }
  }
  if (node) set_history(loss, node);
  return loss;
}

}  // namespace memtape::transformers::liger
