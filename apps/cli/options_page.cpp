// SPDX-License-Identifier: Apache-2.0
#include "options_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "answer/command_options.h"
#include "command_parsers.h"
#include "framework/train_arguments.h"
#include "framework/transformers/arguments/training_arguments.h"
#include "framework/transformers/arguments/trl_config.h"
#include "option/help.h"
#include "predict/serve.h"

namespace memtape::cli {
namespace {

using transformers::Argument;
using transformers::TrlConfig;

constexpr std::string_view kHead = R"(<!-- Made by scripts/options_page.py: do not edit. -->
# Options

What each command takes, as `memtape COMMAND --help` shows it. `-` and `_` are alike in names; a
default stands in parentheses behind what the option does. How answers look is said by `--json`,
`--quiet` and `--explain` everywhere.
)";

constexpr std::string_view kArguments = R"(
## Arguments of `--framework transformers`

`train` takes transformers' TrainingArguments, and the fields of trl's configurations, by their own
names. An argument that says what one of memtape's options says may stand beside it as long as both
say the same.

| argument | value | default | says what |
|---|---|---|---|
)";

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

std::string rows_of(std::span<const Argument> arguments) {
  std::string text;
  for (const Argument& argument : arguments)
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", argument.spellings.substr(2),
                    option::kind_text(argument), code(argument.default_text), code(argument.sets));
  return text;
}

/// "`beta`, `loss_weights`"
std::string names_of(std::string_view spellings) {
  std::string text;
  option::each_word(spellings, [&text](std::string_view word) {
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", word.substr(2));
  });
  return text;
}

std::string page_of(const TrlConfig& config) {
  std::string text = fmt::format("\n### {} (`--trainer {}`)\n", config.name, config.trainer);
  if (!config.own.empty() || !config.shared.empty())
    text += "\n| field | value | default | says what |\n|---|---|---|---|\n" + rows_of(config.own) +
            rows_of(config.shared);
  for (const std::string_view without : {config.own_without_effect, config.shared_without_effect})
    if (!without.empty()) text += fmt::format("\nWithout effect: {}.\n", names_of(without));
  if (config.base && config.not_of_base.empty())
    text += fmt::format("\nAs in {}: {}.\n", config.base->name, names_of(config.of_base));
  else if (config.base)
    text +=
        fmt::format("\nAs in {}: all but {}.\n", config.base->name, names_of(config.not_of_base));
  return text;
}

std::string page_of_arguments() {
  std::vector<Argument> with;
  std::string without;
  for (const Argument& argument : transformers::training_arguments()) {
    if (transformers::is_trl_argument(argument.name())) continue;
    if (argument.set)
      with.push_back(argument);
    else
      without += fmt::format("{}{}", without.empty() ? "" : " ", argument.spellings);
  }
  return fmt::format("{}{}\nWithout effect: {}.\n", kArguments, rows_of(with), names_of(without));
}

std::string page_of_engines() {
  std::string text;
  for (const ServeEngine& engine : serve_engines()) {
    option::Syntax syntax;
    option::add(engine.flags, syntax.table);
    text += fmt::format("\n### `--engine {}`\n\n{}\n{}", engine.name, engine.summary,
                        option::table_markdown(syntax.table));
  }
  return text;
}

/// Train's options stand under `train` alone.
std::string page_of(const Command& command) {
  option::Syntax syntax = syntax_of(command, {});
  const option::Table& of_train = all_train_options();
  const bool is_train = command.name == "train";
  const auto erased = is_train ? 0 : std::erase_if(syntax.table, [&](const option::Option* option) {
    return std::ranges::find(of_train, option) != of_train.end();
  });
  return option::help_markdown(syntax) + (erased > 0 ? "\nAnd options of `train`.\n" : "");
}

}  // namespace

std::string options_page() {
  constexpr std::array<const char*, 1> kServe{"serve"};
  std::string text(kHead);
  for (const Command& command : commands()) {
    text += "\n" + page_of(command);
    if (command.name == "plan") text += "\n" + option::help_markdown(syntax_of(command, kServe));
    if (command.name == "serve") text += page_of_engines();
  }
  text += page_of_arguments();
  for (const TrlConfig* config : transformers::trl_configs()) text += page_of(*config);
  return text;
}

}  // namespace memtape::cli
