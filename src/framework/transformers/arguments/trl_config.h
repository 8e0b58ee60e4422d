// SPDX-License-Identifier: Apache-2.0
// TrlConfig: one of trl's configurations (1.16: SFTConfig, DPOConfig ...) as a table of its fields.
// All of them are TrainingArguments with more fields, many of which several have under one name;
// what a field means is decided by the trainer: the one that --trainer names, or the one whose own
// field is given.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "framework/transformers/arguments/argument.h"

namespace memtape::transformers {

struct TrlConfig {
  std::string_view trainer;            ///< as --trainer names it: "dpo"
  std::string_view name;               ///< "DPOConfig"
  void (*start)(TrainRecipe& recipe);  ///< the trainer's recipe, with its defaults
  /// Its own fields, one of which is enough to ask for its trainer: those with an effect, and those
  /// without.
  std::span<const Argument> own = {};
  std::string_view own_without_effect = {};
  /// Fields whose names it shares with others.
  std::span<const Argument> shared = {};
  std::string_view shared_without_effect = {};
  /// Fields that mean what they mean in `base`: these, or all but those.
  const TrlConfig* base = nullptr;
  std::string_view of_base = {};
  std::string_view not_of_base = {};

  std::vector<std::string_view> own_names() const;  ///< "packing"
  bool has_own(std::string_view field) const;
  bool has(std::string_view field) const;
  Result<void> set(const NamedValue& given, TrainRecipe& recipe) const;

 private:
  bool takes_from_base(std::string_view field) const;
};

extern const TrlConfig kSft, kDpo, kReward, kKto, kCpo, kOrpo, kGrpo, kRloo;

std::span<const TrlConfig* const> trl_configs();
/// The configuration of a trainer; null where it is none of trl's.
const TrlConfig* trl_config(std::string_view trainer);

/// Own fields of all configurations, once each: "--packing".
std::vector<std::string_view> trl_spellings();
bool is_trl_argument(std::string_view name);

Result<void> set_trl_argument(const NamedValue& given, TrainRecipe& recipe);

/// What --trainer may name.
inline constexpr auto kTrainerNames = std::to_array<std::string_view>(
    {"trainer", "sft", "dpo", "reward", "grpo", "kto", "rloo", "cpo", "orpo", "none",
     "llama-factory-dpo", "llama-factory-kto", "llama-factory-rm"});
/// The trainer that is asked for, with its defaults.
void start_trainer(std::span<const NamedValue> options, TrainRecipe& recipe);
/// Sequences are cut to max_length.
void cut_sequences(std::span<const NamedValue> options, TrainRecipe& recipe);
/// What follows from all fields of the trainer together.
Result<void> settle_trl(std::span<const NamedValue> options, TrainRecipe& recipe);

Result<void> settle_sft(TrainRecipe& recipe);
Result<void> settle_cpo(TrainRecipe& recipe);
Result<void> settle_grpo(std::span<const NamedValue> options, TrainRecipe& recipe);

}  // namespace memtape::transformers
