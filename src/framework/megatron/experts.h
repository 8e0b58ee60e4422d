// SPDX-License-Identifier: Apache-2.0
// The experts of one rank (megatron/core/transformer/moe/experts.py): either one MLP after the
// other (SequentialMLP), or Transformer Engine's grouped products (TEGroupedMLP).
#pragma once

#include <memory>
#include <vector>

#include "framework/megatron/linear.h"
#include "framework/megatron/permutation.h"

namespace memtape::megatron {

class CheckpointWithoutOutput;

class Experts {
 public:
  Experts(const nn::Scope& scope, Rank& rank);
  /// Takes tokens sorted by expert, with equally many for each expert.
  Tensor operator()(const Tokens& tokens);

 private:
  struct Expert {
    std::unique_ptr<Linear> fc1, fc2;
  };
  Tensor run(const Expert& expert, const Tensor& rows, const Tensor& probs) const;
  Tensor run_grouped(const Tokens& tokens, const std::vector<std::int64_t>& counts);
  void share_adapters(const nn::Scope& scope, LinearShape fc1, LinearShape fc2);
  void add_weighted_biases(std::vector<Tensor>& outputs, const std::vector<Tensor>& probs) const;
  std::vector<Tensor> activated(const std::vector<Tensor>& between,
                                const std::vector<Tensor>& probs,
                                std::vector<CheckpointWithoutOutput>& recomputed) const;
  std::vector<std::int64_t> counts_of(std::int64_t rows) const;

  Rank& rank_;
  std::vector<Expert> experts_;
};

}  // namespace memtape::megatron
