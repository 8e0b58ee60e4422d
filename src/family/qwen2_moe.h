// SPDX-License-Identifier: Apache-2.0
// Qwen's families of experts: which layers have experts, and the MLP of the others
// (Qwen2MoeDecoderLayer of transformers 5.17 models/qwen2_moe/modular_qwen2_moe.py).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "family/llama.h"
#include "family/moe_decoder.h"

namespace memtape::family {

struct QwenMoeConfig : MoeConfig {
  QwenMoeConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                const MoeDefaults& moe)
      : MoeConfig(c, options, defaults, moe),
        decoder_sparse_step(c.dimension("decoder_sparse_step", 1)),
        mlp_only_layers(c.integers("mlp_only_layers")) {}

  std::int64_t decoder_sparse_step;
  std::vector<std::int64_t> mlp_only_layers;

  bool has_experts(std::int64_t layer) const {
    const bool only_mlp =
        std::find(mlp_only_layers.begin(), mlp_only_layers.end(), layer) != mlp_only_layers.end();
    return !only_mlp && (layer + 1) % decoder_sparse_step == 0;
  }
};

/// The settings of an MLP with another intermediate size.
template <class Settings>
DecoderConfig with_intermediate_size(const Settings& c, std::int64_t size) {
  DecoderConfig other = c;
  other.intermediate_size = size;
  return other;
}

/// `self.mlp`: a block of experts or, in some layers, an MLP.
template <class SparseMoeBlock>
class MaybeSparseMlp {
 public:
  template <class Settings>
  MaybeSparseMlp(const nn::Scope& scope, const Settings& c, std::int64_t layer) {
    if (c.has_experts(layer))
      sparse_.emplace(scope, c);
    else
      dense_.emplace(scope, c);
  }
  Tensor operator()(const In& x) { return sparse_ ? (*sparse_)(x) : (*dense_)(x); }

 private:
  std::optional<SparseMoeBlock> sparse_;
  std::optional<LlamaMLP> dense_;
};

}  // namespace memtape::family
