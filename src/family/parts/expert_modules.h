// SPDX-License-Identifier: Apache-2.0
// MixtralSparseMoeBlock as it was before transformers 5.0: the gate and the three matrices of each
// expert are separate linear layers, which can be quantized. The experts run one after the other,
// also those without tokens (models/mixtral/modeling_mixtral.py of 4.48).
#pragma once

#include "family/parts/experts.h"

namespace memtape::family {

/// MixtralBlockSparseTop2MLP
class ExpertModule : public nn::Module<ExpertModule> {
 public:
  ExpertModule(const nn::Scope& scope, const MoeConfig& c);
  Tensor forward(const Tensor& hidden_states);

 private:
  nn::Linear w1_, w2_, w3_;
  nn::Activation act_fn_;
};

class ExpertModules : public nn::Module<ExpertModules> {
 public:
  ExpertModules(const nn::Scope& scope, const MoeConfig& c);
  /// [T, H] of [T, H].
  Tensor forward(const Tensor& hidden_states);

 private:
  Tensor run_experts(const Tensor& hidden_states, const Routing& routing);

  std::int64_t top_k_;
  ExpertLoad load_;
  nn::Linear gate_;
  nn::ModuleList<ExpertModule> experts_;
};

}  // namespace memtape::family
