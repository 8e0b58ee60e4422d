// SPDX-License-Identifier: Apache-2.0
// How a command is written so that a shell reads it back.
#pragma once

#include <span>
#include <string>

#include "option/given.h"
#include "predict/train.h"

namespace memtape {

/// The word as a POSIX shell reads it, quoted where it must be.
std::string shell_word(std::string_view word);

/// Writes each option as "--name value", and a switch by its name alone.
std::string options_text(std::span<const NamedValue> options);

/// The whole command with these options in place of its own.
std::string command_text(const CommandWords& command, std::span<const NamedValue> options);

}  // namespace memtape
