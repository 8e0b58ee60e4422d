// SPDX-License-Identifier: Apache-2.0
// Reading: the command of a training program on its way to memtape's options. A SettingsProgram
// says how the settings of the program are read and which rules are its own. What becomes an option
// one by one is a row of its table.
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

/// How words set things: `--name value`, `--name=value`, dashes instead of underscores, prefixes
/// that fit only one name, a switch without a value, and several words for a list
/// (HfArgumentParser).
struct WordStyle {
  enum class File : std::uint8_t {
    none,
    first,   ///< the first word is a file, and the words after it override it
    pairs,   ///< the same, if the word looks like a file, and the words are name=value
    only,    ///< a file that is the only word
    config,  ///< --config names a file, and the words override it
  };
  std::string_view name = {};  ///< its name in errors; "" means the program's own name
  File file = File::none;
  bool negatives = false;  ///< --no_NAME turns off what is on by default
  /// Sections of the file whose members are separate settings: SECTION.NAME.
  std::span<const std::string_view> flat_sections = {};
};

/// The settings of the command's words. A name that is not in `names` is an Error that names the
/// nearest one.
Result<Settings> read_words(const LaunchCommand& command, const WordStyle& style,
                            std::span<const std::string_view> names);

/// Begins a training: adds how many GPUs there are, and the warnings of the launcher.
void begin_training(Reading& reading);
/// The same with Trainer, with what accelerate decides about it.
void begin_trainer(Reading& reading);

struct SettingsProgram {
  SettingTable (*table)();
  WordStyle style = {};
  void (*say)(Reading&);  ///< applies the program's own rules
  /// Replaces `style` for programs that read in their own way.
  Result<Settings> (*read)(const LaunchCommand&, const WordStyle&) = nullptr;
  void (*begin)(Reading&) = begin_trainer;
  /// Names in addition to those of the table. They have no effect unless `say` reads them.
  std::vector<std::string_view> (*fields)(const SettingsProgram&) = nullptr;
  TrainerConfig trainer = nullptr;
  bool others_pass = false;  ///< it ignores names that it does not know
  bool checks_names = true;  ///< false: `say` checks them
};

struct Reading {
  const SettingsProgram* program = nullptr;
  LaunchCommand command;
  Settings settings;  ///< they keep the first failure
  Translation translation = {};

  std::span<const SettingRow> rows() const { return program->table().rows; }
  std::string_view name() const {
    return program->style.name.empty() ? command.program : program->style.name;
  }
  /// Adds the rows of a group as options.
  void add_options(std::string_view group = {});
  JsonObject members(std::string_view group) { return said_members(rows(), group, settings); }
  /// Adds `option`, unless it is there.
  void add_default(std::string_view option, std::string_view value);
  /// Removes options that later settings replace.
  void drop(std::initializer_list<std::string_view> options);

  void warn(std::string line) { translation.remarks.warnings.push_back(std::move(line)); }
  void not_modelled(std::string line) {
    translation.remarks.not_modelled.push_back(std::move(line));
  }
  /// Takes MODEL, or fails with a hint how a model is named.
  void take_model(const std::optional<std::string>& model, std::string hint,
                  std::string where = {});
};

Result<Translation> translate(const SettingsProgram& program, const LaunchCommand& command);

}  // namespace memtape::launch
