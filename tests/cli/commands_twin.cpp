// SPDX-License-Identifier: Apache-2.0
// Commands that do nothing: the parser lists and reads a command only when it is linked.
#include "commands/commands.h"

namespace memtape::cli {

int run_train(const RawOptions&, Terminal&) { return ExitCode::fits; }
int run_replay(const ReplayOptions&, Terminal&) { return ExitCode::fits; }
int run_models(const ModelsOptions&, Terminal&) { return ExitCode::fits; }
int run_gpus(const GpusOptions&, Terminal&) { return ExitCode::fits; }

}  // namespace memtape::cli
