// SPDX-License-Identifier: Apache-2.0
// The generated lists of words and what they stand for (data/words), one list a file.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace memtape::launch {

/// A program's word for something, and what it is here.
struct Word {
  std::string_view theirs, ours;
};

/// What the word stands for; "" where the list does not have it.
std::string_view meaning_of(std::string_view word, std::span<const Word> list);
std::vector<std::string_view> words_of(std::span<const Word> list);

/// "torchrun; tune run": names of programs, which may have several words.
std::vector<std::string_view> names_in(std::string_view list);

}  // namespace memtape::launch

namespace memtape::data {

// The table of each file of data/words.
#include "launch/word_tables.inc"

}  // namespace memtape::data
