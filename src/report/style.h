// SPDX-License-Identifier: Apache-2.0
// Style: how text looks on a terminal: the colours of categories, with colour or without, in
// Unicode or plain ASCII. The colours are of medium lightness, so they can be read on dark and on
// light backgrounds; html/style.css has the same hues. Colour never carries meaning alone: without
// it, each category has its own fill pattern.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tape/category.h"

namespace memtape::report {

/// A colour of the 256-colour palette.
using Ink = std::uint8_t;

Ink ink(Category category);
inline constexpr Ink kGood = 71, kBad = 167, kQuiet = 245;

/// Text reports have at least and at most this many columns.
inline constexpr int kLeastWidth = 72, kMostWidth = 120;

struct Style {
  bool colour = false;
  bool ascii = false;
  bool draws = true;  ///< false: text alone, for a reader that is a program

  std::string bold(std::string_view text) const;
  std::string paint(std::string_view text, Ink ink) const;
  /// Paints with both colours, for a cell of a picture that two categories share.
  std::string paint(std::string_view text, Ink ink, Ink ground) const;
  /// Returns `unicode`, or `plain` if only ASCII is wanted.
  std::string_view pick(std::string_view unicode, std::string_view plain) const {
    return ascii ? plain : unicode;
  }
  /// One character cell filled with a category.
  std::string_view fill(Category category) const;
};

/// The number of columns that `text` takes on a terminal: its code points without escape sequences.
int columns(std::string_view text);

/// `text` padded with blanks to `width` columns, on its right or on its left.
std::string pad_right(std::string text, int width);
std::string pad_left(std::string text, int width);

/// `text`, which has no escape sequences, cut to `width` columns: an ellipsis replaces its middle.
std::string shorten(std::string_view text, int width, const Style& style);

/// `text` broken at blanks into lines of at most `width` columns.
std::vector<std::string> wrap(std::string_view text, int width);

/// Lines of a name and what is known by it, broken at blanks beneath themselves.
class Facts {
 public:
  Facts(int width, std::string_view longest_name)
      : width_(width), column_(columns(longest_name) + 4) {}
  void add(std::string_view name, std::string_view text);
  std::string take() && { return std::move(text_); }

 private:
  const int width_, column_;
  std::string text_;
};

/// A bar that is `eighths` eighths of a cell long.
std::string bar(std::int64_t eighths, const Style& style);

}  // namespace memtape::report
