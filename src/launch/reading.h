// SPDX-License-Identifier: Apache-2.0
// Reading: a training program's command on its way to memtape's options. A SettingsProgram says how
// the program's settings are read and what is a rule of its own; what becomes something one for one
// is a row of its table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/transformers/arguments/trl_config.h"
#include "launch/setting_table.h"
#include "launch/translation.h"

namespace memtape::launch {

struct SettingsProgram;
struct Reading;
/// The configuration of trl that extends TrainingArguments. It is null for transformers' own
/// Trainer.
using TrainerConfig = const transformers::TrlConfig*;

/// How words set things: `--name value`, `--name=value`, dashes for underscores, prefixes that only
/// one name has, a switch without a value, several words for a list (HfArgumentParser).
struct WordStyle {
  enum class File : std::uint8_t {
    none,
    first,   ///< the first word is a file, which the words behind it override
    pairs,   ///< the same, if it looks like one, and the words are name=value
    only,    ///< a file that is the only word
    config,  ///< --config names a file, which the words override
  };
  std::string_view name = {};  ///< in errors; "": the program's own
  File file = File::none;
  bool negatives = false;  ///< --no_NAME turns off what is on by itself
  /// Sections of the file whose members are settings: SECTION.NAME.
  std::span<const std::string_view> flat_sections = {};
};

/// What the command's words set; a name that is none of `names` is an Error that names the nearest.
Result<Settings> read_words(const LaunchCommand& command, const WordStyle& style,
                            std::span<const std::string_view> names);

/// The start of a training: how many GPUs there are and what the launcher warned about.
void begin_training(Reading& reading);
/// The same with Trainer, and what accelerate decides about it.
void begin_trainer(Reading& reading);

struct SettingsProgram {
  SettingTable (*table)();
  WordStyle style = {};
  void (*say)(Reading&);  ///< the rules of its own
  /// In the place of `style`, for those that read in their own way.
  Result<Settings> (*read)(const LaunchCommand&, const WordStyle&) = nullptr;
  void (*begin)(Reading&) = begin_trainer;
  /// Names beside those of its table, which are without an effect until `say` reads them.
  std::vector<std::string_view> (*fields)(const SettingsProgram&) = nullptr;
  TrainerConfig trainer = nullptr;
  bool others_pass = false;  ///< it passes over names that it does not know
  bool checks_names = true;  ///< false: `say` does
};

struct Reading {
  const SettingsProgram* program = nullptr;
  LaunchCommand command;
  Settings settings;  ///< the first failure is theirs
  Translation translation = {};

  std::span<const SettingRow> rows() const { return program->table().rows; }
  std::string_view name() const {
    return program->style.name.empty() ? command.program : program->style.name;
  }
  /// The rows of a group as options.
  void add_options(std::string_view group = {});
  JsonObject members(std::string_view group) { return said_members(rows(), group, settings); }
  /// `option` unless it is there.
  void add_default(std::string_view option, std::string_view value);
  /// Options that later settings replace.
  void drop(std::initializer_list<std::string_view> options);

  void warn(std::string line) { translation.remarks.warnings.push_back(std::move(line)); }
  void not_modelled(std::string line) {
    translation.remarks.not_modelled.push_back(std::move(line));
  }
  /// MODEL, or a failure that says how one is named.
  void take_model(const std::optional<std::string>& model, std::string hint,
                  std::string where = {});
};

Result<Translation> translate(const SettingsProgram& program, const LaunchCommand& command);

}  // namespace memtape::launch
