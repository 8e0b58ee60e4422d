// SPDX-License-Identifier: Apache-2.0
#include "family/parts/rms_norms.h"

#include <utility>

#include "ghost/ops/pointwise.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

Olmo2RMSNorm::Olmo2RMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
    : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

Tensor Olmo2RMSNorm::forward(const Tensor& x) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  if (!ghost::has(changes::kOlmo2NormsInFloat32)) return weight_.mul(hidden_states.to(input_dtype));
  return weight_.mul(hidden_states).to(input_dtype);
}

HeliumRMSNorm::HeliumRMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
    : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

Tensor HeliumRMSNorm::forward(const Tensor& x) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-8)));
  return weight_.to_float().mul(hidden_states).to(input_dtype);
}

Tensor l2_norm(const Tensor& x) { return x.mul(ghost::rsqrt(x.pow(2).mean(-1, true).add(1e-6))); }

Tensor Llama4TextL2Norm::forward(const Tensor& x) {
  Tensor normed;
  {
    const Tensor in_float = x.to_float();
    normed = l2_norm(in_float);
  }
  return std::move(normed).to(x.dtype());
}

}  // namespace memtape::family
