// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <algorithm>

#include "answer/options_json.h"
#include "framework/train_arguments.h"
#include "help_page.h"

namespace memtape::cli {

Syntax declared_syntax(const Command& command) {
  Syntax syntax{.operands = {command.operands.begin(), command.operands.end()},
                .takes_tail = command.takes_tail};
  option::add(command.own, syntax.table);
  if (command.takes_train) std::ranges::copy(all_train_options(), std::back_inserter(syntax.table));
  std::ranges::copy(answer::output_options(), std::back_inserter(syntax.table));
  return syntax;
}

Result<Syntax> syntax_of(const Command& command, Arguments typed) {
  Result<Syntax> syntax = command.syntax ? command.syntax(typed) : declared_syntax(command);
  if (!syntax) return syntax;
  syntax->command = command.name;
  syntax->summary = command.summary;
  syntax->example = command.example;
  syntax->table.insert(syntax->table.begin(), &option::kHelp);
  return syntax;
}

int run_command(const Command& command, Arguments typed, Terminal& terminal) {
  const Result<Syntax> syntax = syntax_of(command, typed);
  if (!syntax) return terminal.fail(syntax.error());
  const Result<Words> words =
      command.read ? command.read(*syntax, typed) : option::read_words(*syntax, typed);
  if (!words) return terminal.fail(words.error());
  if (words->asks_help) {
    terminal.print(words->has("json")
                       ? answer::help_json(*syntax)
                       : help_page(*syntax, terminal.width(),
                                   wants_all_help(typed) ? std::string_view() : command.first));
    return ExitCode::fits;
  }
  if (const Result<void> fine = option::check_values(*words, command.own); !fine)
    return terminal.fail(fine.error());
  const bool explains = words->has("explain");
  if (explains && words->has("quiet") && !words->has("json"))
    return terminal.fail({ErrorKind::bad_input,
                          "shows more than the answer, --quiet the answer alone", "--explain",
                          "leave out one of them"});
  const int code = command.run(*words, terminal);
  if (explains && code != ExitCode::bad_input && !command.explanation.empty())
    terminal.note(command.explanation);
  return code;
}

}  // namespace memtape::cli
