// SPDX-License-Identifier: Apache-2.0
// Convolution: the parameters of torch.nn.Conv1d, Conv2d and Conv3d in torch's order: a weight
// [out, in / groups, kernel...] and optionally a bias. The family itself says what it computes with
// them (ghost/ops).
#pragma once

#include "nn/module.h"

namespace memtape::nn {

class Convolution : public Module<Convolution> {
 public:
  Convolution(const Scope& scope, const Dims& weight_sizes, bool has_bias)
      : Module(scope),
        weight(scope.parameter("weight", weight_sizes)),
        bias(has_bias ? scope.parameter("bias", {weight_sizes[0]}) : Tensor()) {}
  /// Without a bias, in a dtype of its own.
  Convolution(const Scope& scope, const Dims& weight_sizes, DType dtype)
      : Module(scope), weight(scope.parameter("weight", weight_sizes, dtype)) {}

  Tensor weight, bias;
};

}  // namespace memtape::nn
