// SPDX-License-Identifier: Apache-2.0
// RMS norms whose formula differs from Llama's.
#pragma once

#include "nn/module.h"

namespace memtape::family {

using ghost::Tensor;

/// Multiplies weight and hidden states before the cast back, not after (OLMo 2, GPT-OSS).
class Olmo2RMSNorm : public nn::Module<Olmo2RMSNorm> {
 public:
  Olmo2RMSNorm(const nn::Scope& scope, std::int64_t hidden_size);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
};

/// Weighs in float32 (Helium, Lara Mini).
class HeliumRMSNorm : public nn::Module<HeliumRMSNorm> {
 public:
  HeliumRMSNorm(const nn::Scope& scope, std::int64_t hidden_size);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
};

/// x / rms(x): Llama4TextL2Norm._norm, and Llama4TextRMSNorm's.
Tensor l2_norm(const Tensor& x);

/// The same in float32, without a weight (Llama 4, NanoChat).
class Llama4TextL2Norm : public nn::Module<Llama4TextL2Norm> {
 public:
  explicit Llama4TextL2Norm(const nn::Scope& scope) : Module(scope) {}
  Llama4TextL2Norm(const nn::Scope& scope, std::int64_t) : Module(scope) {}
  Tensor forward(const Tensor& x);
};

}  // namespace memtape::family
