// SPDX-License-Identifier: Apache-2.0
// The command line: from words to what was asked for. Nothing is opened or computed here, so every
// mistake in the words themselves is found before any work is done.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "base/result.h"
#include "options.h"

namespace memtape::cli {

/// Text to print before a successful exit: help or the version.
struct Message {
  std::string text;
};

using Request = std::variant<Message, RawOptions, ServeCommand, LaunchOptions, RunCommand,
                             PlanTrainOptions, PlanServeOptions, VerifyOptions, VerifyServeOptions,
                             ReplayOptions, ScoreboardOptions, DiffOptions, ModelsOptions,
                             GpusOptions, ExplainOptions, DetectOptions, CheckOptions, WatchCommand,
                             TimeOptions, FitsOptions, McpOptions, HttpOptions, WebOptions>;

Result<Request> parse_command_line(Arguments arguments);

}  // namespace memtape::cli
