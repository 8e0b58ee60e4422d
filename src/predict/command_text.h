// SPDX-License-Identifier: Apache-2.0
// Commands as a shell reads them.
#pragma once

#include <span>
#include <string>

#include "predict/train.h"

namespace memtape {

/// The word as a POSIX shell reads it back, in quotes where it has to be.
std::string shell_word(std::string_view word);

/// "--name value" for each, a switch by its name alone.
std::string options_text(std::span<const std::pair<std::string, std::string>> options);

/// The whole command with other options.
std::string command_text(const CommandWords& command,
                         std::span<const std::pair<std::string, std::string>> options);

}  // namespace memtape
