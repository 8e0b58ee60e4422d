// SPDX-License-Identifier: Apache-2.0
// The commands, one file each: take the options, write the answer, return the exit code.
// The functions are weak so that a command whose file is not built is null, and is then neither
// listed nor run.
#pragma once

#include "options.h"
#include "terminal.h"

namespace memtape::cli {

[[gnu::weak]] int run_train(const RawOptions& options, Terminal& terminal);
[[gnu::weak]] int run_replay(const ReplayOptions& options, Terminal& terminal);
[[gnu::weak]] int run_models(const ModelsOptions& options, Terminal& terminal);
[[gnu::weak]] int run_gpus(const GpusOptions& options, Terminal& terminal);

}  // namespace memtape::cli
