// SPDX-License-Identifier: Apache-2.0
// The commands, one file each.
#pragma once

#include "command.h"

namespace memtape::cli {

extern const Command kTrainCommand, kServeCommand, kRunCommand, kVerifyCommand, kPlanCommand,
    kFitsCommand, kTimeCommand, kRecordCommand, kReplayCommand, kExplainCommand, kWatchCommand,
    kCheckCommand, kDetectCommand, kMcpCommand, kHttpCommand, kWebCommand, kScoreboardCommand,
    kDiffCommand, kModelsCommand, kGpusCommand;
/// `memtape [options] -- COMMAND...`, which has no name.
extern const Command kLaunchCommand;

/// In the order of the overview.
inline std::span<const Command* const> commands() {
  static constexpr const Command* kCommands[] = {
      &kTrainCommand, &kServeCommand,      &kRunCommand,    &kVerifyCommand, &kPlanCommand,
      &kFitsCommand,  &kTimeCommand,       &kRecordCommand, &kReplayCommand, &kExplainCommand,
      &kWatchCommand, &kCheckCommand,      &kDetectCommand, &kMcpCommand,    &kHttpCommand,
      &kWebCommand,   &kScoreboardCommand, &kDiffCommand,   &kModelsCommand, &kGpusCommand};
  return kCommands;
}

/// The answers of a training and of a server, however they were asked for.
int show_training(const RawOptions& options, Terminal& terminal);
int show_server(const ServeCommand& command, Terminal& terminal);
/// `memtape verify serve MODEL`; `own`: the options that are not the server's.
int verify_server(const Words& words, std::span<const Option> own, Terminal& terminal);

}  // namespace memtape::cli
