// SPDX-License-Identifier: Apache-2.0
// The norms that torchtitan used at different times (job_config.h).
#pragma once

#include "nn/module.h"

namespace memtape::torchtitan {

using ghost::Tensor;

/// `own` is RMSNorm of models/norms.py. The others are nn.RMSNorm: `composite` when PyTorch made it
/// of simple ops, and `fused` when it is one kernel.
enum class NormKind { own, composite, fused };

class Norm : public nn::Module<Norm> {
 public:
  Norm(const nn::Scope& scope, std::int64_t width, NormKind kind);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
  NormKind kind_;
};

}  // namespace memtape::torchtitan
