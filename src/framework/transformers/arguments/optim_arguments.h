// SPDX-License-Identifier: Apache-2.0
// TrainingArguments.optim, optim_args and optim_target_modules (transformers 5.17,
// training_args.py:OptimizerNames, trainer_optimizer.py).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "framework/transformers/arguments/argument.h"

namespace memtape::transformers {

/// A name of OptimizerNames, and whose optimizer it is.
struct Optim {
  enum class Of : std::uint8_t { torch, bitsandbytes, others, not_modelled };
  std::string_view name;
  Of of = Of::others;
  OptimizerName optimizer = OptimizerName::adamw;
  OptimizerImpl form = OptimizerImpl::foreach;
  BitsAndBytesOptim bits = {};
};

std::span<const Argument> optim_arguments();

/// Trainer's name for an optimizer that it alone has, such as those of bitsandbytes: "lion_32bit" of
/// "lion" and of "lion-32bit". It is nothing for others.
std::optional<std::string_view> other_optim(std::string_view name);

/// The optim for memtape's own --optimizer and --optimizer-impl. It is "" if Trainer has no such
/// optimizer.
std::string_view optim_of(OptimizerName optimizer, std::optional<OptimizerImpl> impl);

Result<void> set_optim(std::string_view name, TrainRecipe& recipe);

/// Sets the default if nobody names an optimizer. Older releases, which do not fuse it, have
/// another one.
void choose_optim(TrainRecipe& recipe);

/// Combines optim and optim_args.
Result<void> settle_optim_args(TrainRecipe& recipe);

inline bool is_low_rank(const TrainerRecipe& trainer) {
  return trainer.optim.starts_with("galore_") || trainer.optim.starts_with("apollo_");
}

/// Whether the optimizer computes singular vectors of gradients.
inline bool decomposes(const TrainerRecipe& trainer) {
  return trainer.optim.starts_with("galore_") ||
         (trainer.optim.starts_with("apollo_") && trainer.low_rank.svd);
}

/// Whether each parameter steps as soon as its gradient exists.
inline bool is_layerwise(const TrainerRecipe& trainer) {
  return is_low_rank(trainer) && trainer.optim.ends_with("_layerwise");
}

}  // namespace memtape::transformers

namespace memtape::data {

/// data/arguments/optim.txt
std::span<const transformers::Optim> optims();

}  // namespace memtape::data
