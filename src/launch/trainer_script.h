// SPDX-License-Identifier: Apache-2.0
// What scripts with HfArgumentParser have in common: arguments on the command line or in one file,
// TrainingArguments beside the script's own, and the name of a model.
#pragma once

#include <span>

#include "formats/settings.h"
#include "launch/translation.h"

namespace memtape::launch {

/// The script's settings by `names`, from its words or from the file that is its only word.
Result<Settings> read_script(const LaunchCommand& command, std::span<const std::string_view> names);

/// Fields of TrainingArguments, and the script's own.
std::vector<std::string_view> with_fields(std::span<const std::string_view> own);

/// The model and the dtype of its weights.
Result<void> take_model(const LaunchCommand& command, Settings& settings, Translation& translation);

/// The translation, unless a setting would not do.
Result<Translation> finished(Settings& settings, Translation translation);

}  // namespace memtape::launch
