// SPDX-License-Identifier: Apache-2.0
// How the words of each command are read.
#pragma once

#include <string_view>

#include "command_line.h"

namespace memtape::cli {

/// A command as the overview shows it. `parse` reads the words after its name.
struct Command {
  std::string_view name;
  std::string_view operands;
  std::string_view summary;
  std::string_view example;
  Result<Request> (*parse)(const Command&, Arguments);
  bool takes_training_arguments = false;
};

Result<Request> parse_train(const Command& command, Arguments arguments);
Result<Request> parse_plan(const Command& command, Arguments arguments);
Result<Request> parse_serve(const Command& command, Arguments arguments);
Result<Request> parse_run(const Command& command, Arguments arguments);
Result<Request> parse_verify(const Command& command, Arguments arguments);
Result<Request> parse_fits(const Command& command, Arguments arguments);
Result<Request> parse_time(const Command& command, Arguments arguments);
Result<Request> parse_replay(const Command& command, Arguments arguments);
Result<Request> parse_explain(const Command& command, Arguments arguments);
Result<Request> parse_watch(const Command& command, Arguments arguments);
Result<Request> parse_check(const Command& command, Arguments arguments);
Result<Request> parse_detect(const Command& command, Arguments arguments);
Result<Request> parse_scoreboard(const Command& command, Arguments arguments);
Result<Request> parse_diff(const Command& command, Arguments arguments);
Result<Request> parse_models(const Command& command, Arguments arguments);
Result<Request> parse_gpus(const Command& command, Arguments arguments);
Result<Request> parse_mcp(const Command& command, Arguments arguments);
Result<Request> parse_serve_http(const Command& command, Arguments arguments);
Result<Request> parse_web(const Command& command, Arguments arguments);

/// `memtape [options] -- COMMAND...`: the words before and after the dashes.
Result<Request> parse_launch(const Command& command, Arguments before, Arguments launched);

}  // namespace memtape::cli
