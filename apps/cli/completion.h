// SPDX-License-Identifier: Apache-2.0
// What a shell may offer for the word that is being typed (apps/cli/completions: bash, zsh, fish
// ask `memtape __complete WORDS...`): commands, options and their choices, names of models and GPUs.
#pragma once

#include <string>
#include <vector>

#include "option/words.h"

namespace memtape::cli {

struct Candidate {
  std::string word, description;
};

/// `words`: those after the program's name, the last being typed and perhaps empty. None: files, or
/// nothing, may be meant.
std::vector<Candidate> candidates(option::Arguments words);

}  // namespace memtape::cli
