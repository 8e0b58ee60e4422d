// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/norms.h"

#include "framework/vllm/ops.h"
#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

/// rms_norm of vllm/ir/ops/layernorm.py: `x` float32, its local x_var keeps the first value alive.
Tensor normalized(Tensor x, const Tensor& weight, DType dtype) {
  const Tensor x_var = x;
  const Tensor variance = x_var.pow(2).mean(-1, true);
  x = x.mul(ghost::rsqrt(variance.add(1e-6)));
  x = x.mul(weight);
  return x.to(dtype);
}

/// SGLang's GemmaRMSNorm (layers/layernorm.py) keeps a second copy, weight + 1, beside the weight.
/// SGLang's Gemma uses the plain RMSNorm and its Gemma 3 has a class of its own; neither keeps the
/// second copy.
bool keeps_gemma_weight(const Place& place) {
  if (!place.settings().sglang_layers) return false;
  const std::string type = type_of(place.config());
  return type != "gemma" && !type.starts_with("gemma3");
}

}  // namespace

RMSNorm::RMSNorm(const Place& place, std::int64_t width, NormKind kind, bool has_weight)
    : Module(place.scope()), kind_(kind) {
  if (has_weight)
    weight_ = place.parameter("weight", {width});
  else
    weight_ = kernel_output("ones", {width}, place.runtime().dtype());
  if (kind == NormKind::gemma && keeps_gemma_weight(place))
    place.scope().buffer("gemma_weight", kernel_output("ones_like", {width}, weight_.dtype()));
}

Tensor RMSNorm::gemma_weight() const { return weight_.to_float().add(1.0); }

Tensor RMSNorm::forward(const Tensor& x) {
  if (kind_ == NormKind::rms) return kernel_output("rms_norm", x.sizes(), x.dtype());
  const Tensor weight = gemma_weight();
  return normalized(x.to_float(), weight, x.dtype());
}

Stream RMSNorm::add(const Tensor& x, const Tensor& residual) {
  if (kind_ == NormKind::rms) return {x, residual};
  const ghost::ScopeGuard guard(node().scope);
  const Tensor weight = gemma_weight();
  Tensor sum = x.to_float();
  sum = sum.add(residual.to_float());
  Tensor next = sum.to(x.dtype());
  Tensor hidden = normalized(std::move(sum), weight, x.dtype());
  return {hidden, next};
}

LayerNorm::LayerNorm(const Place& place, std::int64_t width, bool bias)
    : Module(place.scope()), weight_(place.parameter("weight", {width})) {
  if (bias) bias_ = place.parameter("bias", {width});
}

Tensor LayerNorm::forward(const Tensor& x) { return ghost::layer_norm(x, weight_, bias_); }

}  // namespace memtape::vllm
