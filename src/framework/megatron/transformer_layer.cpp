// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/transformer_layer.h"

#include <utility>

#include "framework/megatron/activations.h"
#include "framework/megatron/checkpoint_without_output.h"

namespace memtape::megatron {
namespace {

/// Whether the norm before a product is part of it (TELayerNormColumnParallelLinear).
bool norm_is_fused(const Arguments& a) { return a.transformer_engine; }

std::optional<Norm> norm_unless(bool fused, const nn::Scope& scope, Rank& rank) {
  return fused ? std::nullopt : std::optional<Norm>(std::in_place, scope, rank, rank.a.hidden_size);
}

}  // namespace

Mlp::Mlp(const nn::Scope& scope, Rank& rank)
    : rank_(rank),
      fc1_(scope / "linear_fc1", rank,
           {.in = rank.a.hidden_size,
            .out = gate_factor(rank.a) * rank.a.ffn_hidden_size,
            .bias = rank.a.add_bias_linear,
            .norm = norm_is_fused(rank.a)}),
      fc2_(scope / "linear_fc2", rank,
           {.in = rank.a.ffn_hidden_size,
            .out = rank.a.hidden_size,
            .split = Split::row,
            .bias = rank.a.add_bias_linear}) {}

Tensor Mlp::operator()(const Tensor& x) {
  Tensor intermediate = fc1_(x);
  intermediate = activation(rank_.a, intermediate, fc1_.bias);
  return fc2_(intermediate);
}

TransformerLayer::TransformerLayer(const nn::Scope& scope, Rank& rank, const LayerKind& kind)
    : rank_(rank),
      scope_(scope.node().scope),
      input_norm_(
          norm_unless(norm_is_fused(rank.a) && !rank.a.mla.on, scope / "input_layernorm", rank)),
      attention_(scope / "self_attention", rank, false) {
  const bool fused = norm_is_fused(rank.a), experts = kind.experts;
  if (kind.crosses) {
    cross_norm_.emplace(scope / "pre_cross_attn_layernorm", rank, rank.a.hidden_size);
    cross_attention_.emplace(scope / "cross_attention", rank, true);
  }
  if (!fused || experts) mlp_norm_.emplace(scope / "pre_mlp_layernorm", rank, rank.a.hidden_size);
  if (experts)
    moe_.emplace(scope / "mlp", rank);
  else
    mlp_.emplace(scope / "mlp", rank);
}

/// The input where there is no norm. Its output may be recomputed (--recompute-modules layernorm).
Tensor TransformerLayer::normalized(std::optional<Norm>& norm, const Tensor& x,
                                    CheckpointWithoutOutput& recomputed,
                                    const OffloadedModule& offloaded) const {
  if (!norm) return x;
  Norm& kept = *norm;
  const auto run = [&kept](std::span<const Tensor> in) { return std::vector{kept(in[0])}; };
  const bool recomputes = rank_.a.recomputes("layernorm");
  return offloaded(x, [&](const Tensor& in) {
    return recomputes ? recomputed.checkpoint(run, {in}).front() : kept(in);
  });
}

Tensor TransformerLayer::mlp_output(const Tensor& x) {
  const auto run = [this](const Tensor& in) { return moe_ ? (*moe_)(in) : (*mlp_)(in); };
  if (!rank_.a.recomputes(moe_ ? "moe" : "mlp")) return run(x);
  return checkpoint([run](std::span<const Tensor> in) { return run(in[0]); }, {x});
}

Tensor TransformerLayer::crossed(const Tensor& hidden_states, const LayerInputs& inputs) {
  const Tensor normed = (*cross_norm_)(hidden_states);
  const Tensor attended = (*cross_attention_)(
      normed, {.mask = inputs.context_mask, .freqs = {}, .context = inputs.context});
  return bias_dropout_add(rank_.a.hidden_dropout, attended, cross_attention_->bias(),
                          hidden_states);
}

Tensor TransformerLayer::operator()(const Tensor& input, const LayerInputs& inputs) {
  const ghost::ScopeGuard guard(scope_);
  const double rate = rank_.a.hidden_dropout;
  Tensor residual = input;
  Tensor hidden_states;
  {
    CheckpointWithoutOutput recomputed;
    const OffloadedModule norm = rank_.offloaded("attn_norm");
    const Tensor normed = normalized(input_norm_, residual, recomputed, norm);
    const Tensor attended =
        attention_(normed, {.mask = inputs.mask, .freqs = inputs.rotary_freqs, .context = {}});
    recomputed.discard_output_and_register_recompute(attended);
    hidden_states = bias_dropout_add(rate, attended, attention_.bias(), residual);
    if (input_norm_) hidden_states = norm.commit(hidden_states, {residual});
  }
  if (cross_attention_) hidden_states = crossed(hidden_states, inputs);
  residual = hidden_states;
  CheckpointWithoutOutput recomputed;
  const OffloadedModule norm = rank_.offloaded("mlp_norm");
  const Tensor normed = normalized(mlp_norm_, hidden_states, recomputed, norm);
  const Tensor made = mlp_output(normed);
  recomputed.discard_output_and_register_recompute(made);
  const Tensor output = bias_dropout_add(rate, made, mlp_ ? mlp_->bias() : Tensor(), residual);
  return mlp_norm_ ? norm.commit(output, {residual}) : output;
}

}  // namespace memtape::megatron
