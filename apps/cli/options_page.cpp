// SPDX-License-Identifier: Apache-2.0
#include "options_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "commands/commands.h"
#include "framework/train_arguments.h"
#include "framework/transformers/arguments/training_arguments.h"
#include "framework/transformers/arguments/trl_config.h"
#include "option/help.h"
#include "predict/serve.h"
#include "release/package.h"

namespace memtape::cli {
namespace {

using transformers::TrlConfig;
using transformers::TrlField;

constexpr std::string_view kHead = R"(<!-- Made by scripts/options_page.py: do not edit. -->
# Options

What each command takes, as `memtape COMMAND --help` shows it. `-` and `_` are alike in names; a
default stands in parentheses behind what the option does. How answers look is said by `--json`,
`--quiet` and `--explain` everywhere. `memtape COMMAND --help --json` prints the same as data: each
option's names, kind, range or choices, default, group, source, and which options it decides. What an
option mirrors is a file or an API of its framework; where none is named, it is memtape's own.
)";

constexpr std::string_view kArguments = R"(
## Arguments of `--framework transformers`

`train` takes transformers' TrainingArguments, and the fields of trl's configurations, by their own
names: they mirror `transformers/training_args.py`, `trl/trainer/*_config.py` and
`trl/experimental/*/*_config.py`, except where another place is named. An argument that says what one
of memtape's options says may stand beside it as long as both say the same.
)";

constexpr std::string_view kColumns =
    "| argument | value | default | says what | mirrors |\n|---|---|---|---|---|\n";

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

/// "`adamw_torch_fused`; before torch 2.8 `adamw_torch`"
std::string default_of(const TrainOption& argument) {
  std::string text = code(argument.default_text);
  for (const auto& [change, earlier] : argument.earlier)
    text += fmt::format("; before {} {} {}", facts_of(change.package).name, change.since.text(),
                        code(earlier));
  return text;
}

std::string row_of(const TrainOption& argument) {
  const std::string_view source = argument.group.source;
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", argument.spellings.substr(2),
                     option::kind_text(argument), default_of(argument), code(argument.sets),
                     code(source == transformers::kTrainingArguments ? "" : source));
}

/// Those with an effect first, each as a row; the others behind them, in the same columns.
std::string tables_of(const std::vector<const TrainOption*>& arguments) {
  std::string with, without;
  for (const TrainOption* argument : arguments)
    (argument->set ? with : without) += row_of(*argument);
  std::string text;
  if (!with.empty()) text += fmt::format("\n{}{}", kColumns, with);
  if (!without.empty()) text += fmt::format("\nWithout effect:\n\n{}{}", kColumns, without);
  return text;
}

std::string page_of(const TrlConfig& config) {
  std::vector<const TrainOption*> fields;
  for (const TrlField& field : transformers::trl_fields())
    if ((field.of & config.bit()) != 0) fields.push_back(&field.argument);
  return fmt::format("\n### {} (`--trainer {}`)\n{}", config.name, config.trainer,
                     tables_of(fields));
}

std::string page_of_arguments() {
  std::vector<const TrainOption*> arguments;
  for (const TrainOption& argument : transformers::training_arguments())
    if (!transformers::is_trl_argument(argument.name())) arguments.push_back(&argument);
  return std::string(kArguments) + tables_of(arguments);
}

std::string page_of_engines() {
  std::string text;
  for (const ServeEngine& engine : serve_engines()) {
    text += fmt::format("\n### `--engine {}`\n\n{}: flags of `{}`\n{}", engine.name, engine.summary,
                        engine.source, option::table_markdown(option::table_of(engine.flags)));
  }
  return text;
}

/// Train's options stand under `train` alone.
std::string page_of(const Command& command, Arguments typed = {}) {
  Syntax syntax = *syntax_of(command, typed);
  const option::Table& of_train = all_train_options();
  const bool is_train = &command == &kTrainCommand;
  const auto erased = is_train ? 0 : std::erase_if(syntax.table, [&](const option::Option* option) {
    return std::ranges::find(of_train, option) != of_train.end();
  });
  return option::help_markdown(syntax) + (erased > 0 ? "\nAnd options of `train`.\n" : "");
}

}  // namespace

std::string options_page() {
  constexpr std::array<const char*, 1> kServe{"serve"};
  std::string text(kHead);
  for (const Command* command : commands()) {
    text += "\n" + page_of(*command);
    if (command == &kPlanCommand) text += "\n" + page_of(*command, kServe);
    if (command == &kServeCommand) text += page_of_engines();
  }
  text += page_of_arguments();
  for (const TrlConfig* config : transformers::trl_configs()) text += page_of(*config);
  return text;
}

}  // namespace memtape::cli
