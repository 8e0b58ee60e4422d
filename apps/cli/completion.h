// SPDX-License-Identifier: Apache-2.0
// What a shell may offer for the word that is being typed: commands, options and their choices, and
// the names of models and GPUs. bash, zsh and fish ask `memtape __complete WORDS...`
// (apps/cli/completions).
#pragma once

#include <string>
#include <vector>

#include "option/words.h"

namespace memtape::cli {

struct Candidate {
  std::string word, description;
};

/// `words` are those after the program's name. The last one is being typed and may be empty. If
/// there are no candidates, the word may be a file, or nothing known.
std::vector<Candidate> candidates(option::Arguments words);

}  // namespace memtape::cli
