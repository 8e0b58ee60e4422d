// SPDX-License-Identifier: Apache-2.0
// Optimizers that only Trainer has (transformers 5.17, trainer_optimizer.py): those of bitsandbytes,
// and what optim_args and optim_target_modules tell GaLore, APOLLO and others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memtape {

/// An optimizer of bitsandbytes.
struct BitsAndBytesOptim {
  enum class Algorithm { adamw, lion, ademamix };
  Algorithm algorithm = Algorithm::adamw;
  int bits = 32;
  bool paged = false;
};

/// What optim_args says to optimizers of torch and torch-optimi beside numbers.
struct OptimArgs {
  bool momentum = false, centered = false, kahan_sum = false;
};

/// What GaLore and APOLLO are told: optim_args by the names there, and optim_target_modules.
struct LowRankRecipe {
  enum class Side : std::uint8_t { std, reverse_std, left, right, full };
  std::int64_t rank = 128, update_proj_gap = 200;
  Side proj_type = Side::std;
  bool svd = false;         ///< APOLLO's proj="svd"; GaLore always projects so
  bool per_tensor = false;  ///< APOLLO's scale_type="tensor"
  std::vector<std::string> target_modules;
  bool is_one_pattern = false;  ///< target_modules was a string: a pattern, or "all-linear"
};

}  // namespace memtape
