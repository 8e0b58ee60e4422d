// SPDX-License-Identifier: Apache-2.0
// The words of `memtape train MODEL [options]` and of what stands before the -- of a launch
// command, read against the table of options.
#pragma once

#include "answer/options.h"
#include "base/result.h"

namespace memtape::answer {

/// Fails on --help, which is the program's.
Result<RawOptions> read_train_words(Arguments arguments);

/// `before`: up to the --, `launched`: after it.
Result<LaunchOptions> read_launch_words(Arguments before, Arguments launched);

}  // namespace memtape::answer
