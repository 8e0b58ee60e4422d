// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/norm.h"

#include <utility>

#include "ghost/ops/normalization.h"
#include "ghost/ops/pointwise.h"

namespace memtape::torchtitan {
namespace {

/// rms_norm_symint of layer_norm.cpp up to PyTorch 2.8: C++ temporaries live to the end of their
/// expression, locals to that of the function.
Tensor composite_rms_norm(const Tensor& x, const Tensor& weight) {
  const Tensor upcasted_input = x.to_float();
  Tensor rqrst_input;
  {
    const Tensor squares = upcasted_input.pow(2);
    const Tensor mean = squares.mean(-1, true);
    rqrst_input = ghost::rsqrt(mean.add(1e-5));
  }
  const Tensor normalized = upcasted_input.mul(rqrst_input);
  const Tensor result = normalized.to(x.dtype());
  return result.mul(weight);
}

}  // namespace

Norm::Norm(const nn::Scope& scope, std::int64_t width, NormKind kind)
    : Module(scope), weight_(scope.parameter("weight", {width})), kind_(kind) {}

Tensor Norm::forward(const Tensor& x) {
  switch (kind_) {
    case NormKind::fused: return ghost::rms_norm(x, weight_);
    case NormKind::composite: return composite_rms_norm(x, weight_);
    case NormKind::own: break;
  }
  const Tensor upcast = x.to_float();
  Tensor output = upcast.mul(ghost::rsqrt(upcast.pow(2).mean(-1, true).add(1e-5)));
  output = std::move(output).to(x.dtype());
  return output.mul(weight_);
}

}  // namespace memtape::torchtitan
