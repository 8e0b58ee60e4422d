// SPDX-License-Identifier: Apache-2.0
// RMS norms spelled out otherwise than Llama's.
#pragma once

#include "nn/module.h"

namespace memtape::family {

using ghost::Tensor;

/// Weight and hidden states are multiplied before the cast back, not after (OLMo 2, GPT-OSS).
class Olmo2RMSNorm : public nn::Module<Olmo2RMSNorm> {
 public:
  Olmo2RMSNorm(const nn::Scope& scope, std::int64_t hidden_size);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
};

}  // namespace memtape::family
