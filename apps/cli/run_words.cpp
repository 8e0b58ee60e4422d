// SPDX-License-Identifier: Apache-2.0
#include "run_words.h"

#include <variant>

#include "command_line.h"
#include "commands/commands.h"

namespace memtape::cli {
namespace {

struct Run {
  Terminal& terminal;

  int operator()(const Message& message) const {
    terminal.print(message.text);
    return ExitCode::fits;
  }
  int operator()(const RawOptions& options) const { return run_train(options, terminal); }
  int operator()(const LaunchOptions& options) const { return run_launch(options, terminal); }
  int operator()(const ServeCommand& command) const { return run_serve(command, terminal); }
  int operator()(const RunCommand& command) const { return run_run(command, terminal); }
  int operator()(const PlanTrainOptions& options) const {
    return run_plan_train(options, terminal);
  }
  int operator()(const PlanServeOptions& options) const {
    return run_plan_serve(options, terminal);
  }
  int operator()(const VerifyOptions& options) const { return run_verify(options, terminal); }
  int operator()(const VerifyServeOptions& options) const {
    return run_verify_serve(options, terminal);
  }
  int operator()(const ReplayOptions& options) const { return run_replay(options, terminal); }
  int operator()(const ScoreboardOptions& options) const {
    return run_scoreboard(options, terminal);
  }
  int operator()(const DiffOptions& options) const { return run_diff(options, terminal); }
  int operator()(const ExplainOptions& options) const { return run_explain(options, terminal); }
  int operator()(const DetectOptions& options) const { return run_detect(options, terminal); }
  int operator()(const CheckOptions& options) const { return run_check(options, terminal); }
  int operator()(const WatchCommand& command) const { return run_watch(command, terminal); }
  int operator()(const FitsOptions& options) const { return run_fits(options, terminal); }
  int operator()(const TimeOptions& options) const { return run_time(options, terminal); }
  int operator()(const ModelsOptions& options) const { return run_models(options, terminal); }
  int operator()(const GpusOptions& options) const { return run_gpus(options, terminal); }
  int operator()(const McpOptions& options) const { return run_mcp(options, terminal); }
  int operator()(const HttpOptions& options) const { return run_serve_http(options, terminal); }
  int operator()(const WebOptions& options) const { return run_web(options, terminal); }
};

}  // namespace

int run_words(Arguments arguments, Terminal& terminal) {
  const Result<Request> request = parse_command_line(arguments);
  if (!request) return terminal.fail(request.error());
  return std::visit(Run{terminal}, *request);
}

}  // namespace memtape::cli
