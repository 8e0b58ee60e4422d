// SPDX-License-Identifier: Apache-2.0
// Scripts that transformers and trl ship whose training is not modelled: they take
// TrainingArguments and would pass for a script around plain Trainer, but train something else.
#pragma once

#include "launch/launch_command.h"

namespace memtape::launch {

/// An Error that says what the script trains, if it is one of these.
Result<void> check_script(const LaunchCommand& command);

}  // namespace memtape::launch
