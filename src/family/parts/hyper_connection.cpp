// SPDX-License-Identifier: Apache-2.0
#include "family/parts/hyper_connection.h"

#include <array>
#include <vector>

#include "ghost/autocast.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

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

HyperConnection::HyperConnection(const nn::Scope& scope, const HyperConnectionSettings& settings)
    : Module(scope),
      settings_(settings),
      input_norm_(scope / "input_norm"),
      fn_(scope.parameter(
          "fn", {(2 + settings.mult) * settings.mult, settings.mult * settings.hidden_size})),
      base_(scope.parameter("base", {(2 + settings.mult) * settings.mult})),
      scale_(scope.parameter("scale", {3})) {}

Tensor HyperConnection::sinkhorn(const Tensor& comb_logits) const {
  Tensor comb = ghost::softmax(comb_logits, ghost::reduction_dtype(comb_logits)).add(1e-6);
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
  const Tensor flat = input_norm_(flattened(hidden_streams));
  const std::vector<Tensor> w = ghost::linear(flat, fn_.to_float(), {}).split(lengths, -1);
  const std::vector<Tensor> b = base_.split(lengths, 0);
  const std::vector<Tensor> scale = ghost::unbind(scale_);

  const Tensor pre = ghost::sigmoid(w[0].mul(scale[0]).add(b[0])).add(1e-6);
  Tensor post = ghost::sigmoid(w[1].mul(scale[1]).add(b[1])).mul(2.0);
  const Tensor comb_logits =
      w[2].view(w[2].sizes().leading().with(hc).with(hc)).mul(scale[2]).add(b[2].view({hc, hc}));
  Tensor comb = sinkhorn(comb_logits);
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
    : Module(scope),
      input_norm_(scope / "input_norm"),
      hc_fn_(scope.parameter("hc_fn", {settings.mult, settings.mult * settings.hidden_size})),
      hc_base_(scope.parameter("hc_base", {settings.mult})),
      hc_scale_(scope.parameter("hc_scale", {1})) {}

Tensor HyperHead::forward(const Tensor& x) {
  const Tensor flat = input_norm_(flattened(x));
  const Tensor mixes = ghost::linear(flat, hc_fn_.to_float(), {});
  const Tensor pre =
      ghost::sigmoid(mixes.mul(hc_scale_.to_float()).add(hc_base_.to_float())).add(1e-6);
  return collapse(pre, x);
}

}  // namespace memtape::family
