// SPDX-License-Identifier: Apache-2.0
// Framework: what the reading of options has to know of a training framework: its name, which of
// the options that frameworks share it takes, and what it makes of their values. Each framework
// describes itself, with all else that it is, in src/framework/NAME/dialect.cpp.
//
// A recipe points to its framework, so two recipes of one framework hold the same pointer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "option/given.h"
#include "release/package.h"

namespace memtape {

struct TrainOption;
struct TrainRecipe;

/// Options that only some frameworks take.
struct TakenOptions {
  bool several_gpus = true;         ///< --gpus and all that lays a model out over them
  bool training_arguments = false;  ///< transformers' TrainingArguments by their names
  bool quantize = false;            ///< litgpt's word for it
  bool compile = false;             ///< torch.compile
  int low_bits = 0;  ///< so many of LowBits, in their order: --precision fp8, mxfp8, nvfp4
  bool selective_checkpointing = false;
  bool layer_checkpointing = false;
  std::string_view loss = "torch";  ///< the --loss that it has beside torch's
};

/// An option that would change nothing in a framework's program.
struct AbsentOption {
  std::string_view option, what;  ///< "schedule", "pipeline schedule": the framework has no such
  std::string_view hint = "leave it out";
};

struct Framework {
  std::string_view name;     ///< as --framework takes it
  std::string_view summary;  ///< for people who look for a framework
  TakenOptions takes = {};
  std::span<const AbsentOption> absent = {};
  /// Experts are cut over as many tensor parallel ranks as all else where nothing is said.
  bool experts_follow_tensor_ranks = false;
  /// What the image of its programs brings, where nobody names a release.
  std::optional<PackageVersion> image = {};

  // Where one is null, the framework does no such thing.
  /// What people call arguments that it alone has, or alone gives a meaning: "Trainer's arguments".
  std::string_view arguments = {};
  /// The row of such an argument by its name there; or null.
  const TrainOption* (*argument)(std::string_view name) = nullptr;
  /// Whether an --optimizer is one that this framework alone has.
  bool (*has_optimizer)(std::string_view name) = nullptr;
  /// The framework's own defaults, before any option is read.
  void (*start)(std::span<const NamedValue> options, TrainRecipe& recipe) = nullptr;
  /// An option by the common names, where the framework has words of its own for its value.
  NamedValue (*in_common_words)(const NamedValue& option) = nullptr;
  /// Reads the framework's own options, which are the JSON object of --strategy, into the recipe's
  /// own part. It is the only reader of that text.
  Result<void> (*strategy)(std::string_view json, TrainRecipe& recipe) = nullptr;
  /// What the options that all frameworks share mean here, once all of them are read.
  Result<void> (*finish)(std::span<const NamedValue> options, TrainRecipe& recipe) = nullptr;
  /// An error for what the framework refuses, of the options or of the recipe they became.
  Result<void> (*check)(std::span<const NamedValue> options, const TrainRecipe& recipe) = nullptr;
};

/// All frameworks there are, in the order in which they are listed.
using Frameworks = std::span<const Framework* const>;

/// The framework of that name; else an error that suggests one.
Result<const Framework*> find_framework(std::string_view name, Frameworks frameworks);

/// "--framework fsdp2 has no such thing"
tl::unexpected<Error> has_none(const Framework& framework, std::string_view what,
                               std::string_view option, std::string hint);

/// An error for the first option that the framework does not model at all.
Result<void> check_modelled(std::span<const NamedValue> options, const Framework& framework);

/// An error for an option that the recipe's framework has no use for.
Result<void> check_framework_options(std::span<const NamedValue> options,
                                     const TrainRecipe& recipe);

}  // namespace memtape
