// SPDX-License-Identifier: Apache-2.0
// Feed-forward layers and mixtures of experts (llama-graph.cpp, build_ffn, build_moe_ffn).
#include <fmt/format.h>

#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp {

using ggml::Glu;
using ggml::Unary;

/// One op, or once an activation and a product.
Tensor* GraphBuilder::gated(Glu kind, Unary activation, Tensor* gate, Tensor* up) {
  if (!up) return g.unary(activation, gate);
  if (build().fuses_gates()) return g.glu(kind, gate, up);
  return g.mul(g.unary(activation, gate), up);
}

/// The same of a gate in the first half of `both`.
Tensor* GraphBuilder::halved(Glu kind, Unary activation, Tensor* both) {
  if (build().fuses_gates()) return g.glu(kind, both);
  const std::int64_t half = both->ne[0] / 2;
  const auto part = [&](Bytes offset) {
    return g.cont(g.view_2d(both, {half, both->ne[1], 1, 1}, both->nb[1], offset));
  };
  Tensor* gate = g.unary(activation, part(0));
  return g.mul(gate, part(half * both->nb[0]));
}

Tensor* GraphBuilder::activated(Tensor* gate, Tensor* up, Activation activation) {
  switch (activation) {
    case Activation::silu: return gated(Glu::swiglu, Unary::silu, gate, up);
    case Activation::gelu: return gated(Glu::geglu, Unary::gelu, gate, up);
    case Activation::relu: return gated(Glu::reglu, Unary::relu, gate, up);
    case Activation::relu_sqr: return g.sqr(g.unary(Unary::relu, gate));
    case Activation::swiglu_oai: return g.glu(Glu::swiglu_oai, gate, up);
    case Activation::swiglu_fused: return halved(Glu::swiglu, Unary::silu, gate);
    case Activation::xielu: return g.unary(Unary::xielu, gate);
    case Activation::geglu_fused: return halved(Glu::geglu, Unary::gelu, gate);
  }
  return gate;
}

Tensor* GraphBuilder::ffn(std::int64_t il, Tensor* x, const FfnSpec& spec) {
  const auto part = [&](std::string_view name, std::string_view kind) {
    return w(il, fmt::format("ffn_{}{}.{}", name, spec.suffix, kind));
  };
  Tensor* up = biased(mm(part("up", "weight"), x), part("up", "bias"));
  Tensor* gate = nullptr;
  if (spec.gated) gate = biased(mm(part("gate", "weight"), x), part("gate", "bias"));
  Tensor* y = activated(gate ? gate : up, gate ? up : nullptr, spec.activation);
  if (build().computes_gates_early()) g.expand(y);
  return biased(mm(part("down", "weight"), y), part("down", "bias"));
}

/// DeepSeek's choice of groups before the choice of experts: what is outside is set to -inf.
Tensor* GraphBuilder::limited_to_groups(Tensor* scores, const MoeSpec& spec) {
  const std::int64_t groups = hp.n_expert_groups, each = spec.n_expert / groups;
  const std::int64_t rows = scores->ne[1];
  Tensor* by_group = g.reshape(scores, {each, groups, rows, 1});
  Tensor* best = g.argsort_top_k(by_group, 2);
  const ggml::Extents& s = by_group->ne;
  best = g.get_rows(g.reshape(by_group, {1, s[0], s[1], s[2]}), best);
  best = g.sum_rows(g.reshape(best, {best->ne[1], best->ne[2], best->ne[3], 1}));
  best = g.reshape(best, {best->ne[1], best->ne[2], 1, 1});
  Tensor* chosen = g.argsort_top_k(best, hp.n_group_used);
  Tensor* kept = g.get_rows(by_group, chosen);
  kept = g.set_rows(g.fill(by_group), kept, chosen);
  return g.reshape(kept, {spec.n_expert, rows, 1, 1});
}

/// What the experts are chosen by.
Tensor* GraphBuilder::expert_scores(std::int64_t il, Tensor* probs, const MoeSpec& spec) {
  Tensor* scores = biased(probs, w(il, "exp_probs_b.bias"));
  return hp.n_expert_groups > 1 ? limited_to_groups(scores, spec) : scores;
}

Tensor* GraphBuilder::expert_weights(std::int64_t il, Tensor* x, const MoeSpec& spec,
                                     Tensor*& chosen) {
  const std::int64_t rows = x->ne[1];
  Tensor* logits = spec.logits ? spec.logits : mm(w(il, "ffn_gate_inp.weight"), x);
  logits = biased(logits, w(il, "ffn_gate_inp.bias"));
  Tensor* probs = logits;
  if (spec.gating == Gating::softmax) probs = g.soft_max(logits);
  if (spec.gating == Gating::sigmoid) probs = g.unary(Unary::sigmoid, logits);
  chosen =
      g.argsort_top_k(spec.weights_first ? logits : expert_scores(il, probs, spec), spec.n_used);
  Tensor* weights = g.get_rows(g.reshape(probs, {1, spec.n_expert, rows, 1}), chosen);
  const ggml::Extents flat{spec.n_used, rows, 1, 1}, deep{1, spec.n_used, rows, 1};
  if (spec.gating == Gating::softmax_weight)
    weights = g.reshape(g.soft_max(g.reshape(weights, flat)), deep);
  if (spec.normalize) {
    weights = g.reshape(weights, flat);
    weights = g.div(weights, g.clamp(g.sum_rows(weights)));
    weights = g.reshape(weights, deep);
  }
  if (spec.scale != 0 && spec.scale != 1) weights = g.scale(weights);
  if (build().weighs_experts_early()) g.expand(weights);
  return weights;
}

Tensor* GraphBuilder::summed(Tensor* experts, std::int64_t n_used, std::int64_t rows) {
  std::vector<Tensor*> views;
  for (std::int64_t i = 0; i < n_used; ++i) {
    views.push_back(
        g.view_2d(experts, {experts->ne[0], rows, 1, 1}, experts->nb[2], i * experts->nb[1]));
    g.expand(views.back());
  }
  Tensor* sum = views.front();
  for (std::size_t i = 1; i < views.size(); ++i) {
    sum = g.add(sum, views[i]);
    if (build().sums_experts_early()) g.expand(sum);
  }
  return n_used == 1 ? g.cont(sum) : sum;
}

Tensor* GraphBuilder::moe(std::int64_t il, Tensor* x, const MoeSpec& spec) {
  const std::int64_t rows = x->ne[1];
  Tensor* chosen = nullptr;
  Tensor* weights = expert_weights(il, x, spec, chosen);
  x = g.reshape(x, {x->ne[0], 1, rows, 1});
  if (spec.weights_first) x = g.mul(g.repeat(x, {x->ne[0], spec.n_used, rows, 1}), weights);
  const auto one = [&](std::string_view name, Tensor* of) {
    Tensor* y = mm_id(w(il, fmt::format("ffn_{}_exps.weight", name)), of, chosen);
    Tensor* bias = w(il, fmt::format("ffn_{}_exps.bias", name));
    return bias ? g.add_id(y, bias, chosen) : y;
  };
  Tensor *gate = nullptr, *up = nullptr;
  if (w(il, "ffn_gate_up_exps.weight")) {
    Tensor* both = one("gate_up", x);
    const ggml::Extents half{both->ne[0] / 2, both->ne[1], both->ne[2], 1};
    gate = g.view_3d(both, half, both->nb[1], both->nb[2], 0);
    up = g.view_3d(both, half, both->nb[1], both->nb[2], half[0] * both->nb[0]);
  } else {
    up = one("up", x);
    if (w(il, "ffn_gate_exps.weight")) gate = one("gate", x);
  }
  Tensor* y = activated(gate ? gate : up, gate ? up : nullptr, spec.activation);
  if (build().computes_gates_early()) g.expand(y);
  Tensor* experts = one("down", y);
  if (!spec.weights_first) experts = g.mul(experts, weights);
  if (build().sums_experts_early()) g.expand(experts);
  return summed(experts, spec.n_used, rows);
}

}  // namespace memtape::llamacpp
