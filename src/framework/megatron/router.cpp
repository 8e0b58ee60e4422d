// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/router.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/ops/views.h"

namespace memtape::megatron {
namespace {

/// Whether a coefficient, one or a list of them as JSON, is not 0 at place `at` (the last for those
/// behind it).
bool weighs(const Config& c, std::size_t at) {
  const std::string list = c.json("moe_aux_loss_coeff");
  std::size_t from = list.starts_with('[') ? 1 : 0;
  for (; at > 0 && list.find(',', from) != std::string::npos; --at) from = list.find(',', from) + 1;
  return std::atof(list.c_str() + from) != 0.0;
}

/// Router.get_aux_loss_coeff: one coefficient for one kind, or one for each in a list.
AuxLosses read_losses(const Config& c) {
  std::vector<std::string> kinds{"aux_loss"};
  const std::string said = c.json("moe_router_load_balancing_type");
  if (said.starts_with('['))
    kinds = c.texts("moe_router_load_balancing_type");
  else if (said != "null")
    kinds = {c.text("moe_router_load_balancing_type")};
  const auto has = [&](std::string_view kind) {
    const auto found = std::ranges::find(kinds, kind);
    return found != kinds.end() && weighs(c, static_cast<std::size_t>(found - kinds.begin()));
  };
  return {.per_batch = has("aux_loss"),
          .per_sequence = has("seq_aux_loss"),
          .global = has("global_aux_loss"),
          .z = !c.is_null("moe_z_loss_coeff")};
}

using ghost::empty;
using ghost::Gradients;

/// torch.zeros_like(like).int().scatter(1, indices, 1).bool()
Tensor map_of(const Tensor& like, const Tensor& indices) {
  Tensor ones = ghost::zeros_like(like).to(DType::int32);
  ones = ghost::scatter_number(std::move(ones), indices);
  return std::move(ones).to(DType::boolean);
}

/// RouterGatingLinearFunction multiplies by Transformer Engine's product where that is installed,
/// also in models of local layers.
Tensor product(Rank& rank, const Tensor& x, const Tensor& weight, DType dtype) {
  if (!rank.a.fused_kernels) {
    const Tensor rows = x.to(dtype), columns = weight.to(dtype);
    Tensor out = rows.matmul(columns.t());
    rank.use_cublas();
    return out;
  }
  rank.use_te_workspace();
  const ghost::Op op("general_gemm", {});
  return empty({x.size(0), weight.size(0)}, dtype);
}

/// Its backward: gradients of input and weight.
void product_backward(Rank& rank, const Tensor& x, const Tensor& weight, const Tensor& grad,
                      Gradients& in) {
  const DType dtype = grad.dtype();
  const bool fused = rank.a.fused_kernels;
  Tensor grad_input, grad_weight;
  if (fused) rank.use_te_workspace();
  {
    const Tensor columns = weight.to(dtype);
    grad_input = fused ? empty({x.size(0), x.size(1)}, dtype) : grad.matmul(columns);
    if (!fused) rank.use_cublas();
  }
  if (!fused) grad_input = std::move(grad_input).to(x.dtype());
  {
    const Tensor rows = x.to(dtype);
    grad_weight = fused ? empty(weight.sizes(), dtype) : grad.t().matmul(rows);
  }
  if (fused) grad_input = std::move(grad_input).to(x.dtype());
  in[0] = std::move(grad_input);
  in[1] = std::move(grad_weight).to(weight.dtype());
}

/// MoEAuxLossAutoScaler: `x` as it is, with a gradient for the loss besides.
Tensor with_loss(const Tensor& x, const Tensor& loss) {
  return apply({.name = "MoEAuxLossAutoScalerBackward",
                .inputs = {x, loss},
                .forward =
                    [&](ToSave& save) {
                      save = {loss};
                      return ghost::alias(x, x.sizes(), x.strides());
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      in[0] = grad;
                      const Tensor ones = ghost::ones(saved[0].sizes(), saved[0].dtype());
                      in[1] = ones.mul(ghost::kScale);
                    }});
}

/// torch.logsumexp(x, -1), step by step (logsumexp_out_impl of ReduceOps.cpp).
Tensor logsumexp(const Tensor& x) {
  return apply({.name = "LogsumexpBackward0",
                .inputs = {x},
                .forward =
                    [&](ToSave& save) {
                      const Tensor most = empty({x.size(0), 1}, x.dtype());
                      {
                        const Tensor magnitude = empty(most.sizes(), x.dtype());
                        const Tensor is_infinite = empty(most.sizes(), DType::boolean);
                      }
                      const Tensor shifted = empty(x.sizes(), x.dtype());
                      const Tensor sum = empty({x.size(0)}, x.dtype());
                      save = {x, sum};
                      return sum;
                    },
                .backward =
                    [](std::span<const Tensor> saved, const Tensor&, Gradients& in) {
                      const Tensor shifted = saved[0].detach().sub(saved[1].detach().unsqueeze(1));
                      const Tensor share = ghost::exp(shifted);
                      in[0] = empty(share.sizes(), share.dtype());
                    },
                .python_holds = false});
}

}  // namespace

RouterArguments read_router(const Config& c) {
  RouterArguments router{.dtype = std::nullopt, .losses = read_losses(c)};
  const std::string dtype = c.text("moe_router_dtype", "");
  if (dtype == "fp32") router.dtype = DType::float32;
  if (dtype == "fp64") router.dtype = DType::float64;
  router.sinkhorn = c.json("moe_router_load_balancing_type").find("sinkhorn") != std::string::npos;
  router.sigmoid = c.text("moe_router_score_function", "softmax") == "sigmoid";
  router.pre_softmax = c.boolean("moe_router_pre_softmax", false);
  router.expert_bias = c.boolean("moe_router_enable_expert_bias", false);
  router.fused = c.boolean("moe_router_fusion", false);
  router.groups = c.count("moe_router_num_groups", 0);
  router.group_topk = c.count("moe_router_group_topk", 0);
  router.scales = !c.is_null("moe_router_topk_scaling_factor");
  return router;
}

Router::Router(const nn::Scope& scope, Rank& rank) : rank_(rank), moe_(rank.a.moe) {
  weight_ = scope.parameter("weight", {moe_.num_experts, rank.a.hidden_size});
  if (rank.a.add_bias_linear) bias_ = scope.parameter("bias", {moe_.num_experts});
  // Float16Module brings all buffers to the parameters' dtype, of which the bias alone comes back.
  const auto buffer = [&](const Dims& sizes, DType dtype) {
    return ghost::zeros(sizes, dtype, Category::buffer);
  };
  const DType dtype = rank.a.params_dtype;
  if (moe_.router.expert_bias) {
    tokens_per_expert_ = buffer({moe_.num_experts}, dtype);
    expert_bias_ = buffer({moe_.num_experts}, DType::float32);
  }
  if (!moe_.router.losses.global) return;
  global_tokens_ = buffer({moe_.num_experts}, dtype);
  steps_ = buffer({}, dtype);
}

Tensor Router::gating(const Tensor& x) {
  Rank& rank = rank_;
  const DType dtype = moe_.router.dtype.value_or(x.dtype());
  return apply({.name = "RouterGatingLinearFunctionBackward",
                .inputs = {x, weight_, bias_},
                .forward =
                    [&](ToSave& save) {
                      save = {x, weight_, bias_};
                      const Tensor rows = x.view({-1, x.size(-1)});
                      const Tensor logits = product(rank, rows, weight_, dtype);
                      return logits;
                    },
                .backward =
                    [&rank](std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
                      const Tensor rows = saved[0].view({-1, saved[0].size(-1)});
                      product_backward(rank, rows, saved[1], grad, in);
                      if (saved[2].defined()) in[2] = grad.sum(0).to(saved[1].dtype());
                      in[0] = in[0].view(saved[0].sizes());
                    },
                .python_holds = rank.a.pretrain_loop});
}

/// group_limited_topk: of each token, experts out of some groups alone.
std::pair<Tensor, Tensor> Router::chosen(const Tensor& scores) const {
  const RouterArguments& router = moe_.router;
  if (router.group_topk == 0) return ghost::topk(scores, moe_.topk);
  const std::int64_t tokens = scores.size(0), experts = scores.size(1), groups = router.groups;
  Tensor group_scores =
      ghost::topk(scores.view({tokens, groups, experts / groups}), moe_.topk / router.group_topk)
          .first.sum(-1);
  const Tensor group_idx = ghost::topk(group_scores, router.group_topk).second;
  const Tensor group_mask = ghost::zeros_like(group_scores);
  const Tensor score_mask = group_mask.unsqueeze(-1)
                                .expand({tokens, groups, experts / groups})
                                .reshape({tokens, experts});
  Tensor left_out = score_mask.to(DType::boolean);
  left_out = ghost::bitwise_not(std::move(left_out));
  const Tensor masked = ghost::masked_fill(scores, std::move(left_out), ghost::kLowest);
  return ghost::topk(masked, moe_.topk);
}

Router::Scored Router::by_softmax(const Tensor& logits) const {
  Scored out;
  if (moe_.router.pre_softmax) {
    out.scores = ghost::softmax(logits, DType::float32).to(logits.dtype());
    std::tie(out.probs, out.indices) = chosen(out.scores);
    return out;
  }
  std::tie(out.scores, out.indices) = chosen(logits);
  out.probs = ghost::softmax(out.scores, DType::float32).to(logits.dtype());
  return out;
}

Router::Scored Router::by_sigmoid(const Tensor& logits) const {
  Scored out;
  out.scores = ghost::sigmoid(logits.to_float()).to(logits.dtype());
  if (expert_bias_.defined()) {
    out.scores_for_routing = out.scores.add(expert_bias_);
    std::tie(out.unused, out.indices) = chosen(out.scores_for_routing);
    out.scores = ghost::gather(out.scores, out.indices).to(logits.dtype());
  } else {
    std::tie(out.scores, out.indices) = chosen(out.scores);
  }
  out.probs = moe_.topk == 1 ? out.scores : out.scores.div(out.scores.sum(-1, true).add(1e-20));
  return out;
}

/// topk_routing_with_score_function.
Routing Router::topk(const Tensor& logits) const {
  Scored scored = moe_.router.sigmoid ? by_sigmoid(logits) : by_softmax(logits);
  if (moe_.router.scales) scored.probs = scored.probs.mul(ghost::kScale);
  Routing routing;
  if (!rank_.a.deterministic) {
    routing.probs = ghost::scatter(ghost::zeros_like(logits), scored.indices, scored.probs);
    routing.map = map_of(logits, scored.indices);
    return routing;
  }
  Tensor zeros = ghost::zeros_like(logits);
  const Tensor rows = ghost::arange(logits.size(0), DType::int64);
  ghost::scatter_(zeros, scored.indices, scored.probs);
  routing.probs = zeros;
  const Tensor map = ghost::zeros_like(logits);
  const Tensor ones = empty(scored.probs.sizes(), map.dtype());
  routing.map = map.to(DType::boolean);
  return routing;
}

/// sinkhorn_load_balancing: one round of the norm, of as many as it takes.
Routing Router::sinkhorn(const Tensor& logits) const {
  Tensor norm_logits, values, indices;
  {
    const ghost::GradMode without(false);
    const Tensor cost = ghost::exp(logits.to_float());
    norm_logits = cost.mul(ghost::kScale);
  }
  {
    const ghost::GradMode without(false);
    std::tie(values, indices) = ghost::topk(norm_logits, moe_.topk);
  }
  const Tensor scores = moe_.topk == 1 ? ghost::sigmoid(logits)
                                       : ghost::softmax(logits, DType::float32).to(logits.dtype());
  Routing routing;
  routing.map = map_of(scores, indices);
  routing.probs = scores.mul(routing.map);
  return routing;
}

/// apply_router_token_dropping, by the policy "probs".
Routing Router::dropped(const Routing& routing) const {
  const std::int64_t tokens = routing.probs.size(0), capacity = moe_.capacity(tokens);
  Routing kept;
  Tensor values, indices;
  if (capacity > tokens) {
    kept.map = ghost::ones(routing.probs.sizes(), routing.probs.dtype()).to(DType::boolean);
  } else {
    std::tie(values, indices) = ghost::topk_of_columns(routing.probs, capacity);
    kept.map = ghost::scatter_number(ghost::zeros_like(routing.probs.detach()), indices)
                   .to(DType::boolean);
  }
  if (!moe_.pads_to_capacity) kept.map = ghost::logical_and(routing.map, kept.map);
  kept.probs = routing.probs.mul(kept.map);
  return kept;
}

/// save_to_aux_losses_tracker keeps a value for each layer, for each kind of loss.
void Router::track(LossKind kind, const Tensor& loss) {
  const Tensor logged = loss.detach().div(1.0);
  Tensor& values = rank_.loss_trackers[static_cast<std::size_t>(kind)];
  if (values.defined()) return;
  values = ghost::zeros({rank_.a.num_layers + rank_.a.mtp_num_layers}, DType::float32,
                        Category::unknown);
}

/// switch_load_balancing_loss_func, logged and attached.
void Router::add_loss(LossKind kind, const Tensor& scores, const Tensor& map, Tensor& probs) {
  const Tensor local_tokens = ghost::sum_of_bools(map, 0);
  Tensor tokens = local_tokens;
  if (kind == LossKind::global) tokens = global_tokens_.div(steps_);
  Tensor loss;
  {
    const Tensor aggregated = scores.sum(0);
    loss = ghost::sum_all(aggregated.mul(tokens)).mul(ghost::kScale);
  }
  if (kind == LossKind::per_sequence) loss = std::move(loss).div(1.0);
  track(kind, loss);
  probs = with_loss(probs, loss);
}

void Router::add_losses(const Tensor& logits, std::int64_t sequence, Tensor& probs) {
  const AuxLosses& losses = moe_.router.losses;
  if (!losses.any() || !ghost::session().grad_enabled) return;
  Tensor scores, map;
  {
    if (moe_.router.sigmoid) {
      const Tensor active = ghost::sigmoid(logits);
      scores = active.div(active.sum(-1, true).add(1e-20));
    } else {
      scores = ghost::softmax(logits, DType::float32);
    }
    const auto [values, indices] = ghost::topk(scores, moe_.topk);
    map = map_of(logits, indices);
  }
  if (losses.per_batch) add_loss(LossKind::per_batch, scores, map, probs);
  if (losses.per_sequence) {
    const Dims sizes{sequence, scores.numel() / sequence};
    add_loss(LossKind::per_sequence, scores.reshape(sizes), map.reshape(sizes), probs);
  }
  if (losses.global) add_loss(LossKind::global, scores, map, probs);
}

Tensor Router::with_z_loss(const Tensor& logits) {
  if (!moe_.router.losses.z || !ghost::session().grad_enabled) return logits;
  Tensor loss;
  {
    const Tensor squared = logsumexp(logits).pow(2);
    loss = squared.mean(0).mul(ghost::kScale);
  }
  track(LossKind::z, loss);
  return with_loss(logits, loss);
}

Routing Router::operator()(const Tensor& x) {
  Tensor logits = gating(x);
  logits = with_z_loss(logits);
  Routing routing = moe_.router.sinkhorn ? sinkhorn(logits) : topk(logits);
  if (moe_.capacity_factor) routing = dropped(routing);
  add_losses(logits, x.size(0), routing.probs);
  if (expert_bias_.defined() && ghost::session().grad_enabled)
    const Tensor tokens = ghost::sum_of_bools(routing.map, 0);
  return routing;
}

}  // namespace memtape::megatron
