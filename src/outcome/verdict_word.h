// SPDX-License-Identifier: Apache-2.0
// The three verdicts. Where a limit lies within the bounds, nobody can say that a program fits, and
// nobody that it does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "outcome/answer_parts.h"

namespace memtape {

enum class VerdictWord : std::uint8_t { fits, may_not_fit, does_not_fit };

/// What is known for certain of a need within `bounds`, whose central figure `fits` below `limit`
/// or not.
constexpr VerdictWord verdict_word(bool fits, const Bounds& bounds, Bytes limit) {
  if (bounds.low_bytes <= limit && bounds.high_bytes > limit) return VerdictWord::may_not_fit;
  return fits ? VerdictWord::fits : VerdictWord::does_not_fit;
}

constexpr std::string_view name(VerdictWord word) {
  switch (word) {
    case VerdictWord::fits: return "fits";
    case VerdictWord::may_not_fit: return "may not fit";
    case VerdictWord::does_not_fit: return "does not fit";
  }
  return "";
}

/// The verdict of a program that fits because cached segments go back (`gives_back`), or without.
inline std::string in_words(VerdictWord word, bool gives_back) {
  return std::string(name(word)) + (gives_back ? ", cached segments given back" : "");
}

}  // namespace memtape
