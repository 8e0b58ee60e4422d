// SPDX-License-Identifier: Apache-2.0
// The words of `memtape train MODEL [options]`, of what stands before the -- of a launch command
// and of `memtape plan train|serve MODEL [options]`, read against the tables of options.
#pragma once

#include "answer/options.h"
#include "answer/plan_serve.h"
#include "base/result.h"

namespace memtape::answer {

/// Fails on --help, which is the program's.
Result<RawOptions> read_train_words(Arguments arguments);

/// The words after `plan train` and `plan serve`.
Result<PlanTrainOptions> read_plan_train_words(Arguments arguments);
Result<PlanServeOptions> read_plan_serve_words(Arguments arguments);

/// `before`: up to the --, `launched`: after it.
Result<LaunchOptions> read_launch_words(Arguments before, Arguments launched);

}  // namespace memtape::answer
