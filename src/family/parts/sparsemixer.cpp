// SPDX-License-Identifier: Apache-2.0
#include "family/parts/sparsemixer.h"

#include <tuple>

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"

namespace memtape::family {
namespace {

/// PhimoeMultiplier: a gradient for the scores alone. The other inputs have edges, over which
/// nothing comes.
struct PhimoeMultiplierBackward final : ghost::Node {
  PhimoeMultiplierBackward() : Node("PhimoeMultiplierBackward") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor by = multiplier.unpack(), chosen = selected_experts.unpack(),
                 gates = masked_gates.unpack();
    const Tensor grad_at_output = in[0].mul(by);
    out[0] = gates.mul(grad_at_output.mul(-1.0));  // scatter_add_ of grad_at_output into it
  }
  void release() override {
    multiplier.reset();
    selected_experts.reset();
    masked_gates.reset();
  }
  ghost::Saved multiplier, selected_experts, masked_gates;
};

Tensor multiply(const Tensor& scores, const Tensor& by, const Tensor& selected, const Tensor& gates,
                const Tensor& mask) {
  const In inputs[] = {scores, by, gates};
  ghost::Op op("PhimoeMultiplier", {&inputs[0], &inputs[1], &inputs[2]});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    out = by.mul(mask);
  }
  if (!op.differentiable()) return out;
  const auto node = op.node<PhimoeMultiplierBackward>({&scores, &by, &gates});
  node->multiplier.keep(by);
  node->selected_experts.keep(selected);
  node->masked_gates.keep(gates);
  ghost::set_history(out, node);
  return out;
}

/// What the Python function's frame holds from one choice to the next.
struct Frame {
  const Tensor& scores;
  Tensor mask_logits_threshold, max_ind, factor, max_scores;
};

/// Which scores lie too far below the best of `candidates`.
void find_threshold(Frame& f, const Tensor& candidates) {
  const ghost::GradMode no_grad(false);
  std::tie(f.mask_logits_threshold, f.max_ind) = ghost::max_along_last(candidates);
  f.factor = ghost::clamp(ghost::abs(f.scores), f.mask_logits_threshold, Tensor());
  f.mask_logits_threshold =
      ghost::gt(f.mask_logits_threshold.sub(f.scores).div(f.factor), ghost::kLimit);
}

/// Gumbel sampling: the largest of the gates with noise.
Tensor sample(const Tensor& masked_gates) {
  Tensor noise;
  {
    const Tensor exponential = ghost::empty(masked_gates.sizes(), masked_gates.dtype());
    noise = ghost::log(exponential);
  }
  return ghost::max_along_last(masked_gates.sub(std::move(noise))).second;
}

struct Choice {
  Tensor masked_gates, selected_experts, multiplier_o, mask_for_one, multiplier;
};

Choice choose(Frame& f, const Tensor& candidates) {
  find_threshold(f, candidates);
  Choice c;
  c.masked_gates = ghost::masked_fill(candidates, f.mask_logits_threshold, ghost::kLowest);
  c.selected_experts = sample(c.masked_gates);
  c.masked_gates = ghost::softmax(c.masked_gates, ghost::reduction_dtype(c.masked_gates));
  c.multiplier_o = ghost::gather(c.masked_gates, c.selected_experts);
  std::tie(f.max_scores, f.max_ind) = ghost::max_along_last(c.masked_gates);
  Tensor equal = ghost::eq(c.selected_experts, f.max_ind);
  Tensor lucky = ghost::gt(ghost::empty_like(f.max_scores, f.max_scores.dtype()), 0.75);
  c.mask_for_one = ghost::logical_or(std::move(equal), std::move(lucky));
  c.mask_for_one = c.mask_for_one.to_float().to(c.masked_gates.dtype());
  c.multiplier =
      multiply(f.scores, c.multiplier_o, c.selected_experts, c.masked_gates, c.mask_for_one);
  return c;
}

}  // namespace

Mixed sparsemixer(const Tensor& scores) {
  Frame frame{
      .scores = scores, .mask_logits_threshold = {}, .max_ind = {}, .factor = {}, .max_scores = {}};
  Choice first = choose(frame, scores);
  const Tensor masked_scores = ghost::scatter_number(scores, first.selected_experts);
  const Choice second = choose(frame, masked_scores);
  first.multiplier = ghost::cat({first.multiplier, second.multiplier}, -1);
  first.selected_experts = ghost::cat({first.selected_experts, second.selected_experts}, -1);
  return {std::move(first.multiplier), std::move(first.selected_experts)};
}

}  // namespace memtape::family
