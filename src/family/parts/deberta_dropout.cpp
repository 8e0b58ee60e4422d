// SPDX-License-Identifier: Apache-2.0
#include "family/parts/deberta_dropout.h"

#include <utility>

#include "ghost/autocast.h"
#include "ghost/autograd/function.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "release/encoder_changes.h"

namespace memtape::family {
namespace {

/// input.masked_fill(mask, 0) * ctx.scale.
Tensor dropped(const Tensor& x, const Tensor& mask) {
  return ghost::masked_fill(x, mask, 0.0).mul(2.0);
}

struct XDropoutBackward final : ghost::Node {
  XDropoutBackward() : Node("XDropoutBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    out[0] = dropped(in[0], mask.unpack());
  }
  void release() override { mask.reset(); }
  ghost::Saved mask;
};

/// get_mask: what is dropped.
Tensor drawn_mask(const Tensor& x) {
  Tensor bernoulli = ghost::empty_like(x, x.dtype());
  return ghost::rsub(1.0, std::move(bernoulli)).to(DType::boolean);
}

Tensor x_dropout(const Tensor& x) {
  const auto node = ghost::function_node<XDropoutBackward>({&x});
  Tensor out, mask;
  {
    const ghost::GradMode no_grad(false);
    mask = drawn_mask(x);
    out = dropped(x, mask);
  }
  if (node) {
    set_history(out, node);
    node->mask.keep(mask);
  }
  return out;
}

struct XSoftmaxBackward final : ghost::Node {
  XSoftmaxBackward() : Node("XSoftmaxBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor output = probabilities.unpack();
    out[0] = ghost::softmax_backward_data(in[0], output, output.dtype());
  }
  void release() override { probabilities.reset(); }
  ghost::Saved probabilities;
};

Tensor x_softmax(const Tensor& scores, const Tensor& given_mask) {
  const auto node = ghost::function_node<XSoftmaxBackward>({&scores});
  Tensor output;
  {
    const ghost::GradMode no_grad(false);
    const Tensor rmask = ghost::bitwise_not(given_mask.to(DType::boolean));
    output = ghost::masked_fill(scores, rmask, ghost::kLowest);
    output = ghost::softmax(output, ghost::reduction_dtype(output));
    ghost::masked_fill_(output, rmask, 0.0);
  }
  if (node) {
    set_history(output, node);
    node->probabilities.keep_result(output);
  }
  return output;
}

}  // namespace

Tensor deberta_dropout(const Tensor& x, double p) {
  if (ghost::has(changes::kDebertaDropsPlainly)) return ghost::dropout(x, p);
  return ghost::session().training && p > 0 ? x_dropout(x) : x;
}

Tensor deberta_softmax(Tensor& scores, Tensor& attention_mask) {
  if (!ghost::has(changes::kDebertaDropsPlainly)) return x_softmax(scores, attention_mask);
  attention_mask = attention_mask.to(DType::boolean);
  scores = ghost::masked_fill(scores, ghost::bitwise_not(attention_mask), ghost::kLowest);
  return ghost::softmax(scores, ghost::reduction_dtype(scores));
}

}  // namespace memtape::family
