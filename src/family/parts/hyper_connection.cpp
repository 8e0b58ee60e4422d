// SPDX-License-Identifier: Apache-2.0
#include "family/parts/hyper_connection.h"

#include <array>
#include <utility>
#include <vector>

#include "ghost/autocast.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

using ghost::Dims;

/// The streams of each token side by side, in float32.
Tensor flattened(const Tensor& streams) {
  const Dims& s = streams.sizes();
  return streams.view({s[0], s[1], s[2] * s[3]}).to_float();
}

/// (pre.unsqueeze(-1) * streams).sum(dim=2).to(dtype).
Tensor collapse(const Tensor& pre, const Tensor& streams) {
  return pre.unsqueeze(-1).mul(streams).sum(2).to(streams.dtype());
}

}  // namespace

Tensor UnweightedRMSNorm::forward(const Tensor& x) {
  return x.mul(ghost::rsqrt(x.to_float().pow(2).mean(-1, true).add(1e-6)).to(x.dtype()));
}

std::vector<Tensor> deepseek_v4_parameters(const nn::Scope& scope,
                                           std::span<const NamedSizes> wanted) {
  if (ghost::has(changes::kDeepseekV4KeepsNormsInFloat32))
    return parameters_put_into_float32(scope, wanted);
  std::vector<Tensor> parameters;
  for (const NamedSizes& each : wanted)
    parameters.push_back(scope.parameter(each.name, each.sizes));
  return parameters;
}

HyperConnection::HyperConnection(const nn::Scope& scope, const HyperConnectionSettings& settings)
    : Module(scope), settings_(settings), input_norm_(scope / "input_norm") {
  const std::int64_t mult = settings.mult;
  const std::array<NamedSizes, 3> wanted{{{"fn", {(2 + mult) * mult, mult * settings.hidden_size}},
                                          {"base", {(2 + mult) * mult}},
                                          {"scale", {3}}}};
  const std::vector<Tensor> made = deepseek_v4_parameters(scope, wanted);
  fn_ = made[0];
  base_ = made[1];
  scale_ = made[2];
}

Tensor HyperConnection::sinkhorn(Tensor comb_logits) const {
  const DType dtype = ghost::reduction_dtype(comb_logits);
  Tensor comb = ghost::softmax(std::move(comb_logits), dtype).add(1e-6);
  comb = comb.div(comb.sum(-2, true).add(1e-6));
  for (std::int64_t i = 1; i < settings_.sinkhorn_iterations; ++i) {
    comb = comb.div(comb.sum(-1, true).add(1e-6));
    comb = comb.div(comb.sum(-2, true).add(1e-6));
  }
  return comb;
}

HyperConnection::Weights HyperConnection::forward(const Tensor& hidden_streams) {
  const std::int64_t hc = settings_.mult;
  const std::array lengths{hc, hc, hc * hc};
  const bool rebinds = ghost::has(changes::kHyperConnectionsRebind);
  Tensor flat = input_norm_(flattened(hidden_streams));
  const std::vector<Tensor> w = ghost::linear(flat, fn_.to_float(), {}).split(lengths, -1);
  if (rebinds) flat = {};
  const std::vector<Tensor> b = base_.split(lengths, 0);
  const std::vector<Tensor> scale = ghost::unbind(scale_);
  Tensor comb_w, comb_b;
  const auto take_matrices = [&] {
    comb_w = w[2].view(w[2].sizes().leading().with(hc).with(hc));
    comb_b = b[2].view({hc, hc});
  };
  if (rebinds) take_matrices();

  const Tensor pre = ghost::sigmoid(w[0].mul(scale[0]).add(b[0])).add(1e-6);
  Tensor post = ghost::sigmoid(w[1].mul(scale[1]).add(b[1])).mul(2.0);
  if (!rebinds) take_matrices();
  Tensor comb_logits = comb_w.mul(scale[2]).add(comb_b);
  Tensor comb = rebinds ? sinkhorn(std::move(comb_logits)) : sinkhorn(comb_logits);
  Tensor collapsed = collapse(pre, hidden_streams);
  return {std::move(post), std::move(comb), std::move(collapsed)};
}

Tensor HyperConnection::mix(const Weights& weights, const Tensor& output,
                            const Tensor& hidden_states) {
  const DType dtype = hidden_states.dtype();
  const Tensor placed = weights.post.to(dtype).unsqueeze(-1).mul(output.unsqueeze(-2));
  return placed.add(weights.comb.to(dtype).transpose(-1, -2).matmul(hidden_states));
}

HyperHead::HyperHead(const nn::Scope& scope, const HyperConnectionSettings& settings)
    : Module(scope), input_norm_(scope / "input_norm") {
  const std::array<NamedSizes, 3> wanted{
      {{"hc_fn", {settings.mult, settings.mult * settings.hidden_size}},
       {"hc_base", {settings.mult}},
       {"hc_scale", {1}}}};
  const std::vector<Tensor> made = deepseek_v4_parameters(scope, wanted);
  hc_fn_ = made[0];
  hc_base_ = made[1];
  hc_scale_ = made[2];
}

Tensor HyperHead::forward(const Tensor& x) {
  const Tensor flat = input_norm_(flattened(x));
  const Tensor mixes = ghost::linear(flat, hc_fn_.to_float(), {});
  const Tensor pre =
      ghost::sigmoid(mixes.mul(hc_scale_.to_float()).add(hc_base_.to_float())).add(1e-6);
  return collapse(pre, x);
}

}  // namespace memtape::family
