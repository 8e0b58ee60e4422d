// SPDX-License-Identifier: Apache-2.0
// The optimizer of TrainingArguments (transformers 5.17, trainer_optimizer.py): `optim`, by the
// names of OptimizerNames, what `optim_args` says to it, and the modules that GaLore and APOLLO are
// for.
#pragma once

#include "base/result.h"
#include "workload/train_options.h"

namespace memtape {

/// Whether Trainer has an optimizer of that name that no other framework has.
bool is_other_optim(std::string_view name);

/// `--optim NAME`
Result<void> set_optim(const NamedValue& option, TrainRecipe& recipe);

/// The optim that the recipe's optimizer and its form are called there.
Result<void> set_optim_by_common_names(TrainRecipe& recipe);

/// `--optim_args "rank=64,update_proj_gap=100"`; what the chosen optimizer does not read says
/// nothing.
Result<void> set_optim_args(const NamedValue& option, TrainRecipe& recipe);

/// What follows from `optim` and `optim_args` together, once both are read.
Result<void> settle_optim_args(TrainRecipe& recipe);

/// `--optim_target_modules PATTERN`, or a list of them as JSON.
Result<void> set_optim_target_modules(const NamedValue& option, TrainRecipe& recipe);

/// Whether parameters of some modules are updated in a space of low rank.
inline bool is_low_rank(const TrainerRecipe& trainer) {
  return trainer.optim.starts_with("galore_") || trainer.optim.starts_with("apollo_");
}

/// Whether their projections come from cuSOLVER's decompositions of gradients.
inline bool decomposes(const TrainerRecipe& trainer) {
  return trainer.optim.starts_with("galore_") ||
         (trainer.optim.starts_with("apollo_") && trainer.low_rank.svd);
}

/// Whether each parameter is updated as soon as its gradient is there.
inline bool is_layerwise(const TrainerRecipe& trainer) {
  return is_low_rank(trainer) && trainer.optim.ends_with("_layerwise");
}

}  // namespace memtape
