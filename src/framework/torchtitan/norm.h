// SPDX-License-Identifier: Apache-2.0
// torchtitan's norms of different days (job_config.h).
#pragma once

#include "nn/module.h"

namespace memtape::torchtitan {

using ghost::Tensor;

/// models/norms.py's RMSNorm; nn.RMSNorm as PyTorch made it of simple ops; as one kernel.
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
