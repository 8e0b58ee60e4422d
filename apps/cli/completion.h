// SPDX-License-Identifier: Apache-2.0
// What a shell may offer for the word that is being typed (apps/cli/completions: bash, zsh, fish
// ask `memtape __complete WORDS...`): commands, options and their choices as the help texts have
// them, names of models and GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.h"

namespace memtape::cli {

struct Candidate {
  std::string word, description;
};

/// One command of the overview.
struct CommandName {
  std::string_view name, summary;
};

/// `words`: those after the program's name, the last being typed and perhaps empty. None: files, or
/// nothing, may be meant.
std::vector<Candidate> candidates(Arguments words, const std::vector<CommandName>& commands);

}  // namespace memtape::cli
