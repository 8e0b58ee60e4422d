// SPDX-License-Identifier: Apache-2.0
// `memtape [options] -- COMMAND...`: the launch command in memtape's words, as the training or the
// server that it starts. What stands before the -- comes last and so overrides what the launch
// command says. A command that starts containers of a file is the `docker run` of the one that
// serves.
#pragma once

#include <variant>

#include "answer/options.h"
#include "answer/outside.h"

namespace memtape::answer {

using Launched = std::variant<RawOptions, ServeCommand>;

/// `typed`: the words by answer::launch_syntax(), the command behind the --.
Result<Launched> launched(const option::Words& typed, const Outside& outside);

}  // namespace memtape::answer
