// SPDX-License-Identifier: Apache-2.0
// The three verdicts. If a limit lies within the bounds, nobody can say for certain that a program
// fits, nor that it does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "outcome/answer_parts.h"

namespace memtape {

enum class VerdictWord : std::uint8_t { fits, may_not_fit, does_not_fit };

/// What is certain about a need within `bounds`. `fits` says whether the central figure is within
/// `limit`.
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

/// The verdict in words. `gives_back` is set if the program fits only because cached segments go
/// back to the driver.
inline std::string in_words(VerdictWord word, bool gives_back) {
  return std::string(name(word)) + (gives_back ? ", cached segments given back" : "");
}

}  // namespace memtape
