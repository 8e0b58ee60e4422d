// SPDX-License-Identifier: Apache-2.0
// The commands. Each has a file.
#pragma once

#include "command.h"

namespace memtape::cli {

extern const Command kTrainCommand, kServeCommand, kRunCommand, kVerifyCommand, kPlanCommand,
    kFitsCommand, kTimeCommand, kRecordCommand, kReplayCommand, kExplainCommand, kWatchCommand,
    kCheckCommand, kDetectCommand, kMcpCommand, kHttpCommand, kWebCommand, kScoreboardCommand,
    kDiffCommand, kModelsCommand, kGpusCommand;
/// `memtape [options] -- COMMAND...`, which has no name.
extern const Command kLaunchCommand;

/// All commands in the order of the overview.
inline std::span<const Command* const> commands() {
  static constexpr const Command* kCommands[] = {
      &kTrainCommand, &kServeCommand,      &kRunCommand,    &kVerifyCommand, &kPlanCommand,
      &kFitsCommand,  &kTimeCommand,       &kRecordCommand, &kReplayCommand, &kExplainCommand,
      &kWatchCommand, &kCheckCommand,      &kDetectCommand, &kMcpCommand,    &kHttpCommand,
      &kWebCommand,   &kScoreboardCommand, &kDiffCommand,   &kModelsCommand, &kGpusCommand};
  return kCommands;
}

/// Show the answer for a training, or for a server, however it was asked for.
int show_training(const RawOptions& options, Terminal& terminal);
int show_server(const ServeCommand& command, Terminal& terminal);
/// `memtape verify serve MODEL`. `own` are the options that do not belong to the server.
int verify_server(const Words& words, std::span<const Option> own, Terminal& terminal);

}  // namespace memtape::cli
