// SPDX-License-Identifier: Apache-2.0
// `memtape [options] -- COMMAND...`: the launch command in memtape's words, as the training or the
// server that it starts. What stands before the -- comes last, so it overrides what the launch
// command says. If a command starts the containers of a file, it stands for the `docker run` of the
// container that serves.
#pragma once

#include <variant>

#include "answer/options.h"
#include "answer/outside.h"

namespace memtape::answer {

using Launched = std::variant<RawOptions, ServeCommand>;

/// `typed` are the words, read by answer::launch_syntax(), with the command after the --.
Result<Launched> launched(const option::Words& typed, const Outside& outside);

}  // namespace memtape::answer
