// SPDX-License-Identifier: Apache-2.0
#include "family/rms_norms.h"

#include "ghost/ops/pointwise.h"

namespace memtape::family {

Olmo2RMSNorm::Olmo2RMSNorm(const nn::Scope& scope, std::int64_t hidden_size)
    : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

Tensor Olmo2RMSNorm::forward(const Tensor& x) {
  const DType input_dtype = x.dtype();
  Tensor hidden_states = x.to_float();
  const Tensor variance = hidden_states.pow(2).mean(-1, true);
  hidden_states = hidden_states.mul(ghost::rsqrt(variance.add(1e-6)));
  return weight_.mul(hidden_states).to(input_dtype);
}

}  // namespace memtape::family
