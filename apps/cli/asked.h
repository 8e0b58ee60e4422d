// SPDX-License-Identifier: Apache-2.0
// What the words of a command ask for, if a command is written inside of another one: after
// `--against`, or in memtape.toml.
#pragma once

#include <string>
#include <vector>

#include "answer/launch_request.h"

namespace memtape::cli {

/// `words` are `train MODEL ...`, `serve MODEL ...` or `[options] -- COMMAND`, without the
/// program's name.
Result<answer::Launched> asked_by(const std::vector<std::string>& words);

}  // namespace memtape::cli
