// SPDX-License-Identifier: Apache-2.0
// TrainingArguments.optim, optim_args and optim_target_modules (transformers 5.17,
// training_args.py:OptimizerNames, trainer_optimizer.py).
#pragma once

#include <span>
#include <string_view>

#include "framework/transformers/arguments/argument.h"

namespace memtape::transformers {

std::span<const Argument> optim_arguments();

/// Whether it is an optimizer that only Trainer has, of bitsandbytes and others.
bool is_other_optim(std::string_view name);

/// optim for memtape's own --optimizer and --optimizer-impl; "" where Trainer has none such.
std::string_view optim_of(OptimizerName optimizer, std::optional<OptimizerImpl> impl);

Result<void> set_optim(std::string_view name, TrainRecipe& recipe);

/// The default where nobody says an optimizer: of releases that do not fuse it yet another.
void choose_optim(TrainRecipe& recipe);

/// What optim and optim_args are together.
Result<void> settle_optim_args(TrainRecipe& recipe);

inline bool is_low_rank(const TrainerRecipe& trainer) {
  return trainer.optim.starts_with("galore_") || trainer.optim.starts_with("apollo_");
}

/// Whether the optimizer takes singular vectors of gradients.
inline bool decomposes(const TrainerRecipe& trainer) {
  return trainer.optim.starts_with("galore_") ||
         (trainer.optim.starts_with("apollo_") && trainer.low_rank.svd);
}

/// Each parameter steps as soon as its gradient is there.
inline bool is_layerwise(const TrainerRecipe& trainer) {
  return is_low_rank(trainer) && trainer.optim.ends_with("_layerwise");
}

}  // namespace memtape::transformers
