// SPDX-License-Identifier: Apache-2.0
#include "family/parts/put_into_float32.h"

#include "ghost/ops/copies.h"

namespace memtape::family {

std::vector<ghost::Tensor> parameters_put_into_float32(const nn::Scope& scope,
                                                       std::span<const NamedSizes> wanted) {
  const bool converts = scope.dtype() != DType::float32;
  std::vector<ghost::Tensor> made, parameters;
  if (converts)
    for (const NamedSizes& each : wanted) made.push_back(ghost::empty(each.sizes, scope.dtype()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    parameters.push_back(scope.parameter(wanted[i].name, wanted[i].sizes, DType::float32));
    if (converts) made[i] = {};
  }
  return parameters;
}

}  // namespace memtape::family
