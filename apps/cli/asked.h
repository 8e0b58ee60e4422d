// SPDX-License-Identifier: Apache-2.0
// What the words of a command ask for, where a command is written inside another one: behind
// `--against`, or in memtape.toml.
#pragma once

#include <string>
#include <vector>

#include "answer/launch_request.h"

namespace memtape::cli {

/// `train MODEL ...`, `serve MODEL ...`, or `[options] -- COMMAND`; without the program's name.
Result<answer::Launched> asked_by(const std::vector<std::string>& words);

}  // namespace memtape::cli
