// SPDX-License-Identifier: Apache-2.0
// TrlConfig: one of trl's configurations (1.16: SFTConfig, DPOConfig ...). All of them are
// TrainingArguments with more fields, many of which occur in several configurations under one name.
// The trainer decides what a field means: it is the one that --trainer names, or the one whose own
// field is given.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "framework/transformers/arguments/argument.h"

namespace memtape::transformers {

/// One bit for each trainer, in the order of TrlTrainer.
using Trainers = unsigned;
inline constexpr Trainers kOfSft = 1, kOfDpo = 2, kOfReward = 4, kOfGrpo = 8, kOfKto = 16,
                          kOfRloo = 32, kOfCpo = 64, kOfOrpo = 128;

/// A field, and the configurations in which it has the same meaning. It belongs to the first of
/// them: if it is given without --trainer, it asks for that trainer.
struct TrlField {
  Trainers of;
  Argument argument;
};

/// The rows that have an effect, and those of data/arguments behind them.
template <class Row>
std::vector<Row> joined(std::span<const Row> modelled, std::span<const Row> neutral) {
  std::vector<Row> all(modelled.begin(), modelled.end());
  all.insert(all.end(), neutral.begin(), neutral.end());
  return all;
}

struct TrlConfig {
  TrlTrainer which;
  std::string_view trainer;               ///< the name for --trainer: "dpo"
  std::string_view name;                  ///< "DPOConfig"
  void (*begin)(TrainerRecipe& trainer);  ///< makes the recipe of the trainer, with its defaults
  /// The configuration whose fields it takes over, except for some.
  const TrlConfig* base = nullptr;

  Trainers bit() const { return 1U << (static_cast<unsigned>(which) - 1); }
  void start(TrainRecipe& recipe) const;
  std::vector<std::string_view> own_names() const;  ///< "packing"
  bool has_own(std::string_view field) const;
  /// It is null if there is no such field.
  const Argument* find(std::string_view field) const;
};

extern const TrlConfig kSft, kDpo, kReward, kKto, kCpo, kOrpo, kGrpo, kRloo;

/// In the order of the trainers that have them first, which is that of trl_configs().
std::span<const TrlField> trl_fields();
std::span<const TrlConfig* const> trl_configs();

bool is_trl_argument(std::string_view name);

/// Sets a field in the way of the recipe's trainer.
Result<void> set_trl_field(const option::Said& said, TrainRecipe& recipe);

/// The names that --trainer takes.
inline constexpr auto kTrainerNames = std::to_array<std::string_view>(
    {"trainer", "sft", "dpo", "reward", "grpo", "kto", "rloo", "cpo", "orpo", "none",
     "llama-factory-dpo", "llama-factory-kto", "llama-factory-rm"});
/// Starts the trainer that is asked for, with its defaults.
void start_trainer(std::span<const NamedValue> options, TrainRecipe& recipe);
/// Cuts sequences to max_length.
void cut_sequences(TrainRecipe& recipe);

/// Of the fields that its releases had once (trl_earlier_fields.h).
std::vector<std::string_view> earlier_trl_names(Trainers of);

}  // namespace memtape::transformers

namespace memtape::data {

// The tables of data/arguments: rows on which no block of a training step depends.
std::span<const transformers::Argument> neutral_training_arguments();
std::span<const transformers::TrlField> neutral_trl_fields();

}  // namespace memtape::data
