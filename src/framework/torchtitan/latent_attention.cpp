// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/latent_attention.h"

#include <array>
#include <utility>
#include <vector>

#include "framework/torch_tp/operand_gradient.h"
#include "framework/torch_tp/redistribute.h"
#include "framework/torchtitan/rotary.h"
#include "ghost/ops/attention.h"
#include "ghost/ops/flex_attention.h"
#include "ghost/ops/joins.h"
#include "model/type_of.h"

namespace memtape::torchtitan {
namespace {

using ghost::Dims;

/// Modules come in the order of __init__, which some sizes leave out.
std::optional<nn::Linear> linear_if(bool wanted, const nn::Scope& scope, const char* name,
                                    std::int64_t in, std::int64_t out) {
  if (!wanted) return std::nullopt;
  return std::optional<nn::Linear>(std::in_place, scope / name, in, out, false);
}

}  // namespace

LatentArgs read_latent_args(const Config& c) {
  const bool is_v3 = type_of(c) == "deepseek_v3";
  LatentArgs args{.dim = c.dimension("hidden_size", is_v3 ? 7168 : 4096),
                  .n_heads = c.dimension("num_attention_heads", is_v3 ? 128 : 32),
                  .kv_lora_rank = c.dimension("kv_lora_rank", 512),
                  .qk_nope_head_dim = c.dimension("qk_nope_head_dim", 128),
                  .qk_rope_head_dim = c.dimension("qk_rope_head_dim", 64),
                  .v_head_dim = c.dimension("v_head_dim", 128)};
  args.q_lora_rank = c.has("q_lora_rank") ? c.optional_dimension("q_lora_rank").value_or(0) : 1536;
  return args;
}

LatentAttention::LatentAttention(const nn::Scope& scope, const LatentArgs& args)
    : Module(scope),
      args_(args),
      wq_(linear_if(args.q_lora_rank == 0, scope, "wq", args.dim,
                    args.n_heads * args.qk_head_dim())),
      wq_a_(linear_if(args.q_lora_rank > 0, scope, "wq_a", args.dim, args.q_lora_rank)),
      q_norm_(args.q_lora_rank > 0 ? std::optional<Norm>(std::in_place, scope / "q_norm",
                                                         args.q_lora_rank, args.norm)
                                   : std::optional<Norm>()),
      wq_b_(linear_if(args.q_lora_rank > 0, scope, "wq_b", args.q_lora_rank,
                      args.n_heads * args.qk_head_dim())),
      wkv_a_(scope / "wkv_a", args.dim, args.kv_lora_rank + args.qk_rope_head_dim, false),
      kv_norm_(scope / "kv_norm", args.kv_lora_rank, args.norm),
      wkv_b_(scope / "wkv_b", args.kv_lora_rank,
             args.n_heads * (args.qk_nope_head_dim + args.v_head_dim), false),
      wo_(scope / "wo", args.n_heads * args.v_head_dim, args.dim, false) {}

Tensor LatentAttention::queries(const Tensor& x) {
  if (wq_) return (*wq_)(x);
  const Tensor q = (*wq_a_)(shares_heads_ ? torch_tp::with_partitioned_gradient(x) : x);
  return (*wq_b_)(normed(*q_norm_, q));
}

/// Each GPU's heads make a summand of the gradient, which a norm's backward cannot take.
Tensor LatentAttention::normed(Norm& norm, const Tensor& x) const {
  Tensor y = norm(x);
  if (shares_heads_) torch_tp::copy_gradient_of(y, torch_tp::Copied::all_reduced);
  return y;
}

/// DTensors of other placements are put together: positions are cut to this GPU's heads before.
Tensor LatentAttention::keys(const Tensor& k_nope, const Tensor& k_pe) const {
  const Tensor expanded =
      k_pe.expand({k_pe.size(0), k_pe.size(1), k_nope.size(2), args_.qk_rope_head_dim});
  const Tensor cut = shares_heads_ ? torch_tp::select_shard(expanded, {}, 2) : Tensor();
  return ghost::cat({k_nope, expanded}, -1);
}

Tensor LatentAttention::forward(const Tensor& x, const Tensor& freqs_cis) {
  // The last goes first, as Python lets go of locals in their order.
  Tensor output, k, v, k_nope, k_pe, kv, q_pe, q_nope, q;
  const Dims heads{x.size(0), x.size(1), -1};
  q = queries(x).view(heads.with(args_.qk_head_dim()));
  std::vector<Tensor> parts =
      q.split(std::array{args_.qk_nope_head_dim, args_.qk_rope_head_dim}, -1);
  q_nope = std::move(parts[0]);
  q_pe = std::move(parts[1]);
  q_pe = rotate_one(q_pe, freqs_cis);
  q = ghost::cat({q_nope, q_pe}, -1);

  kv = wkv_a_(x);
  parts = kv.split(std::array{args_.kv_lora_rank, args_.qk_rope_head_dim}, -1);
  kv = std::move(parts[0]);
  k_pe = std::move(parts[1]);
  if (shares_heads_) torch_tp::copy_gradient_of(kv, torch_tp::Copied::partitioned);
  k_pe = rotate_one(k_pe.unsqueeze(2), freqs_cis);
  kv = wkv_b_(normed(kv_norm_, kv)).view(heads.with(args_.qk_nope_head_dim + args_.v_head_dim));
  parts = kv.split(std::array{args_.qk_nope_head_dim, args_.v_head_dim}, -1);
  k_nope = std::move(parts[0]);
  v = std::move(parts[1]);
  parts.clear();
  k = keys(k_nope, k_pe);

  q = std::move(q).transpose(1, 2);
  k = std::move(k).transpose(1, 2);
  v = std::move(v).transpose(1, 2);
  output = args_.uses_flex ? ghost::flex_attention(q, k, v)
                           : ghost::scaled_dot_product_attention(q, k, v, {}, {.is_causal = true});
  output = output.transpose(1, 2).contiguous();
  output = output.view({x.size(0), x.size(1), output.size(2) * output.size(3)});
  return wo_(output);
}

}  // namespace memtape::torchtitan
