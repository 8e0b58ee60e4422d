// SPDX-License-Identifier: Apache-2.0
// The commands, one file each: take the options, write the answer, return the exit code.
#pragma once

#include "options.h"
#include "terminal.h"

namespace memtape::cli {

int run_train(const RawOptions& options, Terminal& terminal);
int run_launch(const LaunchOptions& options, Terminal& terminal);
int run_serve(const ServeCommand& command, Terminal& terminal);
int run_plan_serve(const PlanServeOptions& options, Terminal& terminal);
int run_plan_train(const PlanTrainOptions& options, Terminal& terminal);
int run_run(const RunCommand& command, Terminal& terminal);
int run_verify(const VerifyOptions& options, Terminal& terminal);
int run_verify_serve(const VerifyServeOptions& options, Terminal& terminal);
int run_replay(const ReplayOptions& options, Terminal& terminal);
int run_fits(const FitsOptions& options, Terminal& terminal);
int run_time(const TimeOptions& options, Terminal& terminal);
int run_models(const ModelsOptions& options, Terminal& terminal);
int run_gpus(const GpusOptions& options, Terminal& terminal);
int run_explain(const ExplainOptions& options, Terminal& terminal);
int run_detect(const DetectOptions& options, Terminal& terminal);
int run_check(const CheckOptions& options, Terminal& terminal);
int run_watch(const WatchCommand& command, Terminal& terminal);
int run_mcp(const McpOptions& options, Terminal& terminal);
int run_serve_http(const HttpOptions& options, Terminal& terminal);
int run_web(const WebOptions& options, Terminal& terminal);
[[gnu::weak]] int run_scoreboard(const ScoreboardOptions& options, Terminal& terminal);
[[gnu::weak]] int run_diff(const DiffOptions& options, Terminal& terminal);

}  // namespace memtape::cli
