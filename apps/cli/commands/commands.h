// SPDX-License-Identifier: Apache-2.0
// The commands, one file each: take the options, write the answer, return the exit code.
#pragma once

#include "options.h"
#include "terminal.h"

namespace memtape::cli {

int run_train(const RawOptions& options, Terminal& terminal);
int run_replay(const ReplayOptions& options, Terminal& terminal);
int run_models(const ModelsOptions& options, Terminal& terminal);
int run_gpus(const GpusOptions& options, Terminal& terminal);

}  // namespace memtape::cli
