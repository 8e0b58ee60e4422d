// SPDX-License-Identifier: Apache-2.0
// Granite's experts, and the shared one that all tokens use; its mixtures and its hybrids have
// them. Mirrors transformers 5.17 models/granitemoe/modular_granitemoe.py and
// models/granitemoeshared/modular_granitemoeshared.py.
#pragma once

#include "family/parts/moe_decoder.h"
#include "nn/layers.h"

namespace memtape::family {

/// A multiplier of any value: the product is computed even if it is 1.
inline constexpr double kMultiplier = 1.0;

struct GraniteMoeConfig : MoeConfig {
  GraniteMoeConfig(const Config& c, const ModelOptions& options);

  std::int64_t shared_intermediate_size;  ///< 0: there is no shared one
  bool has_experts;                       ///< hybrids may have the shared one alone
};

class GraniteMoeTopKRouter : public nn::Module<GraniteMoeTopKRouter> {
 public:
  GraniteMoeTopKRouter(const nn::Scope& scope, const MoeConfig& c);
  Routing forward(const Tensor& hidden_states);

 private:
  std::int64_t top_k_;
  Tensor weight_;
};

class GraniteMoe : public nn::Module<GraniteMoe> {
 public:
  GraniteMoe(const nn::Scope& scope, const MoeConfig& c);
  Tensor forward(const Tensor& layer_input);

 private:
  GraniteMoeTopKRouter router_;
  Experts experts_;
};

class GraniteMoeSharedMLP : public nn::Module<GraniteMoeSharedMLP> {
 public:
  GraniteMoeSharedMLP(const nn::Scope& scope, const GraniteMoeConfig& c);
  Tensor forward(const Tensor& x);

 private:
  nn::Activation activation_;
  nn::Linear input_linear_, output_linear_;
};

}  // namespace memtape::family
