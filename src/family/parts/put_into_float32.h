// SPDX-License-Identifier: Apache-2.0
// put_into_float32: parameters of a module that its maker puts into float32
// (`Module(config).to(torch.float32)` in an __init__ of transformers 5.23 and 5.24): all are made in
// the model's dtype, then each is replaced.
#pragma once

#include <span>
#include <vector>

#include "nn/module.h"

namespace memtape::family {

struct NamedSizes {
  const char* name;
  ghost::Dims sizes;
};

std::vector<ghost::Tensor> parameters_put_into_float32(const nn::Scope& scope,
                                                       std::span<const NamedSizes> wanted);

}  // namespace memtape::family
