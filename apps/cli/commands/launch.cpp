// SPDX-License-Identifier: Apache-2.0
// `memtape [options] -- COMMAND...`: the launch command in memtape's words, then that command. What
// stands before the -- comes last and so overrides what the launch command says.
#include "commands.h"
#include "launch/translation.h"

namespace memtape::cli {

int run_launch(const LaunchOptions& options, Terminal& terminal) {
  Result<launch::Translation> said = launch::translate(options.command);
  if (!said) return terminal.fail(said.error());
  RawOptions raw = options.given;
  raw.model = std::move(said->model);
  raw.config = std::move(said->config);
  raw.environment = std::move(said->environment);
  raw.warnings = std::move(said->warnings);
  raw.values = std::move(said->options);
  raw.values.insert(raw.values.end(), options.given.values.begin(), options.given.values.end());
  if (said->command == launch::Translation::Command::train) return run_train(raw, terminal);
  return run_serve({.model = std::move(raw.model),
                    .engine = std::move(said->engine),
                    .values = std::move(raw.values),
                    .warnings = std::move(raw.warnings),
                    .output = raw.output},
                   terminal);
}

}  // namespace memtape::cli
