// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/experts.h"

#include <cmath>

#include "framework/megatron/activations.h"
#include "framework/megatron/checkpoint_without_output.h"
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
  rank.kept.insert(rank.kept.end(), {&local_map_, &permutation_, &local_probs_});
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

/// The router's weights for each token and expert, in the tokens' dtype. RouterGatingLinearFunction
/// of moe_utils.py multiplies by Transformer Engine's product where that is installed, also in
/// models of local layers.
Tensor MoeLayer::router_probs(const Tensor& rows) {
  if (rank_.a.fused_kernels) rank_.use_te_workspace();
  const Tensor scores = rows.matmul(router_.t());
  if (!rank_.a.fused_kernels) rank_.use_cublas();
  const Tensor logits = scores.to_float();
  return ghost::softmax(logits, DType::float32).to(rows.dtype());
}

/// The experts one after the other, each over as many rows, or their outputs as one of grouped
/// products has them.
Tensor MoeLayer::run_experts(const Tensor& rows, const Tensor& weights) {
  const Arguments& a = rank_.a;
  const bool grouped = a.moe.grouped_gemm && a.transformer_engine;
  if (grouped) rank_.use_grouped_workspaces();
  const bool recomputes = grouped && a.recomputes("moe_act");
  std::vector<CheckpointWithoutOutput> recomputed(recomputes ? experts_.size() : 0);
  const auto local = static_cast<std::int64_t>(experts_.size());
  const std::int64_t share = rows.size(0) / local;
  std::vector<Tensor> outputs;
  for (std::int64_t i = 0; i < local; ++i) {
    const Expert& expert = experts_[static_cast<std::size_t>(i)];
    const std::int64_t end = i + 1 < local ? (i + 1) * share : rows.size(0);
    const Tensor mine = rows.slice(0, i * share, end);
    const Tensor weight = weights.defined() ? weights.slice(0, i * share, end) : Tensor();
    const Tensor between = (*expert.fc1)(mine);
    const auto active = [&a, bias = expert.fc1->bias](std::span<const Tensor> in) {
      return std::vector{weighted_activation(a, in[0], bias, in[1])};
    };
    const std::vector<Tensor> inputs{between, weight};
    outputs.push_back((*expert.fc2)(
        recomputes ? recomputed[static_cast<std::size_t>(i)].checkpoint(active, inputs).front()
                   : active(inputs).front()));
  }
  const Tensor output = outputs.size() > 1 ? ghost::cat(outputs, 0) : outputs.front();
  for (CheckpointWithoutOutput& one : recomputed) one.discard_output_and_register_recompute(output);
  return output;
}

/// MoEAllGatherTokenDispatcher: every rank of the group sees all tokens and takes those of its
/// experts. What it knows of a routing stays until the next one.
Tensor MoeLayer::routed_by_gathering(const Tensor& rows) {
  const Arguments& a = rank_.a;
  const auto local = static_cast<std::int64_t>(experts_.size());
  const std::int64_t tokens = rows.size(0), width = rows.size(1), group = a.ep * a.etp;
  const std::int64_t all = tokens * group;
  const std::int64_t mine = a.moe.load.of_fullest_gpu({all, a.moe.topk, a.moe.num_experts}, local);
  const Tensor probs = router_probs(rows);
  if (group > 1) const Tensor gathered = rank_.global_buffer({all, width}, rows.dtype());
  {
    const ghost::Op op("dispatch_postprocess", {});
    local_map_ = empty({all, local}, DType::boolean, Category::buffer);
    permutation_ = empty({mine}, DType::int64, Category::buffer);
  }
  Tensor dispatched = apply({.name = "IndexSelectBackward",
                             .inputs = {rows},
                             .forward = [&](ToSave&) { return empty({mine, width}, rows.dtype()); },
                             .backward =
                                 [sizes = rows.sizes(), all, group](
                                     std::span<const Tensor>, const Tensor& grad, Gradients& in) {
                                   in[0] = empty({all, sizes.back()}, grad.dtype());
                                   if (group > 1) in[0] = empty(sizes, grad.dtype());
                                 }});
  local_probs_ = moved("MaskedSelectBackward", probs.reshape({-1, 1}), mine);
  Tensor outputs = run_experts(dispatched, local_probs_);
  dispatched.reset();
  local_probs_ = local_probs_.detach();
  Tensor restored = apply(
      {.name = "IndexAddBackward",
       .inputs = {outputs},
       .forward =
           [&](ToSave&) {
             Tensor zeros = empty({all, width}, outputs.dtype());
             if (!a.deterministic) return zeros;
             Tensor again = empty({all, width}, outputs.dtype());
             zeros.reset();
             const Tensor scaled = empty(outputs.sizes(), outputs.dtype());
             return again;
           },
       .backward = [mine, width](std::span<const Tensor>, const Tensor& grad,
                                 Gradients& in) { in[0] = empty({mine, width}, grad.dtype()); }});
  outputs.reset();
  if (group == 1) return restored;
  return apply(
      {.name = "_ReduceScatterToSequenceParallelRegionBackward",
       .inputs = {restored},
       .forward = [&](ToSave&) { return scattered(restored, group); },
       .backward = [all, width](std::span<const Tensor>, const Tensor& grad,
                                Gradients& in) { in[0] = empty({all, width}, grad.dtype()); }});
}

/// MoEAlltoAllTokenDispatcher: tokens are sorted by expert, exchanged, and sorted again by the
/// experts of this rank.
Tensor MoeLayer::routed_by_exchange(const Tensor& rows) {
  const Arguments& a = rank_.a;
  const std::int64_t tokens = rows.size(0), local = a.moe.num_experts / a.ep;
  const Tensor probs = router_probs(rows);
  const std::int64_t group = a.ep * a.etp;
  std::int64_t sent = tokens * a.moe.topk;
  std::int64_t received =
      a.moe.load.of_fullest_gpu({tokens * group, a.moe.topk, a.moe.num_experts}, local);
  if (a.moe.capacity_factor) {  // dropped or padded to it, whatever the routing
    const auto each = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(sent) / static_cast<double>(a.moe.num_experts) *
                  *a.moe.capacity_factor));
    sent = each * a.moe.num_experts;
    received = each * local * group;
  }
  {
    const ghost::Op op("dispatch_preprocess", {});
    local_map_ = empty({tokens, a.moe.num_experts}, DType::boolean, Category::buffer);
    permutation_ = empty({sent}, DType::int64, Category::buffer);
  }
  local_probs_ = probs.detach();
  Tensor dispatched = moved("PermuteBackward", rows, sent);
  if (group > 1) dispatched = moved("_AllToAllBackward", dispatched, received);
  if (local > 1) dispatched = moved("SortChunksBackward", dispatched, received);
  Tensor combined =
      run_experts(dispatched, moved("_AllToAllBackward", probs.reshape({-1, 1}), received));
  dispatched.reset();
  if (local > 1) combined = moved("SortChunksBackward", combined, received);
  if (group > 1) combined = moved("_AllToAllBackward", combined, sent);
  return moved("UnpermuteBackward", combined, tokens);
}

Tensor MoeLayer::routed(const Tensor& x) {
  const Tensor rows = x.view({x.numel() / x.size(-1), x.size(-1)});
  const Tensor out =
      rank_.a.moe.gathers_tokens ? routed_by_gathering(rows) : routed_by_exchange(rows);
  return out.view(x.sizes());
}

Tensor MoeLayer::operator()(const Tensor& x) {
  Tensor output = routed(x);
  if (!shared_fc1_) return output;
  const auto run = [this](std::span<const Tensor> in) {
    const Tensor between = (*shared_fc1_)(in[0]);
    return (*shared_fc2_)(activation(rank_.a, between, Tensor()));
  };
  const std::vector<Tensor> inputs{x};
  const Tensor shared =
      rank_.a.recomputes("shared_experts") ? checkpoint(run, inputs) : run(inputs);
  return output.add(shared);
}

}  // namespace memtape::megatron
