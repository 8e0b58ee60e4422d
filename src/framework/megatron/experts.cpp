// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/experts.h"

#include <cmath>

#include "framework/megatron/activations.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// A permutation or an exchange of rows: new memory for `rows` rows of x, and back.
Tensor moved(const char* name, const Tensor& x, std::int64_t rows) {
  return apply(
      {.name = name,
       .inputs = {x},
       .forward = [&](ToSave&) { return empty({rows, x.size(-1)}, x.dtype()); },
       .backward = [sizes = x.sizes()](std::span<const Tensor>, const Tensor& grad,
                                       Gradients& in) { in[0] = empty(sizes, grad.dtype()); }});
}

}  // namespace

MoeLayer::MoeLayer(const nn::Scope& scope, Rank& rank) : rank_(rank) {
  const Arguments& a = rank.a;
  const MoeArguments& moe = a.moe;
  const std::int64_t gate = a.activation == Activation::swiglu ? 2 : 1;
  router_ = (scope / "router").parameter("weight", {moe.num_experts, a.hidden_size});
  if (moe.expert_bias) {
    expert_bias_ = ghost::zeros({moe.num_experts}, DType::float32, Category::buffer);
    tokens_per_expert_ = ghost::zeros({moe.num_experts}, DType::float32, Category::buffer);
  }
  for (std::int64_t i = 0; i < moe.num_experts / a.ep; ++i) {
    const nn::Scope expert = scope / "experts" / i;
    experts_.push_back({std::make_unique<Linear>(expert / "linear_fc1", rank,
                                                 LinearShape{.in = a.hidden_size,
                                                             .out = gate * moe.ffn_hidden_size,
                                                             .bias = a.add_bias_linear,
                                                             .parts = a.etp,
                                                             .gathers = false}),
                        std::make_unique<Linear>(expert / "linear_fc2", rank,
                                                 LinearShape{.in = moe.ffn_hidden_size,
                                                             .out = a.hidden_size,
                                                             .split = Split::row,
                                                             .bias = a.add_bias_linear,
                                                             .parts = a.etp,
                                                             .gathers = false})});
  }
  if (moe.shared_expert_size == 0) return;
  const nn::Scope shared = scope / "shared_experts";
  if (moe.shared_gate) shared_gate_ = shared.parameter("gate_weight", {1, a.hidden_size});
  shared_fc1_ = std::make_unique<Linear>(
      shared / "linear_fc1", rank,
      LinearShape{.in = a.hidden_size, .out = gate * moe.shared_expert_size});
  shared_fc2_ = std::make_unique<Linear>(
      shared / "linear_fc2", rank,
      LinearShape{.in = moe.shared_expert_size, .out = a.hidden_size, .split = Split::row});
}

/// Router, dispatch, experts, combine.
Tensor MoeLayer::routed(const Tensor& x) {
  const Arguments& a = rank_.a;
  const std::int64_t tokens = x.numel() / x.size(-1);
  const Tensor rows = x.view({tokens, x.size(-1)});
  const Tensor scores = rows.matmul(router_.t());
  rank_.use_cublas();
  const Tensor logits = scores.to_float();
  const Tensor probs = ghost::softmax(logits, DType::float32);
  const std::int64_t local = a.moe.num_experts / a.ep;
  std::int64_t each = tokens * a.moe.topk / a.moe.num_experts;
  if (a.moe.capacity_factor)
    each = static_cast<std::int64_t>(std::ceil(static_cast<double>(tokens * a.moe.topk) /
                                               static_cast<double>(a.moe.num_experts) *
                                               *a.moe.capacity_factor));
  const std::int64_t sent = each * a.moe.num_experts, received = each * a.ep * local * a.etp;
  Tensor dispatched = moved("PermuteBackward", rows, sent);
  if (a.ep > 1 || a.etp > 1) dispatched = moved("_AllToAllBackward", dispatched, received);
  if (local > 1) dispatched = moved("SortChunksBackward", dispatched, received);
  if (a.moe.grouped_gemm && a.transformer_engine) rank_.use_grouped_workspaces();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < experts_.size(); ++i) {
    const std::int64_t share = received / local;
    const auto at = static_cast<std::int64_t>(i) * share;
    const Tensor mine = dispatched.slice(0, at, at + share);
    const Tensor between = (*experts_[i].fc1)(mine);
    outputs.push_back((*experts_[i].fc2)(activation(a, between, experts_[i].fc1->bias)));
  }
  dispatched.reset();
  Tensor combined = outputs.size() > 1 ? ghost::cat(outputs, 0) : outputs.front();
  outputs.clear();
  if (local > 1) combined = moved("SortChunksBackward", combined, received);
  if (a.ep > 1 || a.etp > 1) combined = moved("_AllToAllBackward", combined, sent);
  const Tensor kept_probs = probs;
  return moved("UnpermuteBackward", combined, tokens).view(x.sizes());
}

Tensor MoeLayer::operator()(const Tensor& x) {
  Tensor output = routed(x);
  if (!shared_fc1_) return output;
  const Tensor between = (*shared_fc1_)(x);
  const Tensor shared = (*shared_fc2_)(activation(rank_.a, between, Tensor()));
  return output.add(shared);
}

}  // namespace memtape::megatron
