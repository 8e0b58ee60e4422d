// SPDX-License-Identifier: Apache-2.0
// The wrappers that start a program: interpreters, launchers, containers. A table; each takes its
// own flags off the front of the words and notes in the command what they say.
#pragma once

#include "launch/launch_command.h"

namespace memtape::launch {

struct Unwrapped {
  enum class Kind : std::uint8_t {
    wrapper,  ///< `rest` may begin with another wrapper
    program,  ///< `rest` begins with the program itself
    module    ///< the same, as a Python module's name
  };
  Kind kind = Kind::program;
  std::span<const std::string> rest;
};

/// Takes the wrapper off that `words` begins with; without one they are returned as a program.
Result<Unwrapped> unwrap_once(std::span<const std::string> words, LaunchCommand& command);

}  // namespace memtape::launch
