// SPDX-License-Identifier: Apache-2.0
// MessageText: a log as people paste it. Its messages are broken over lines, prefixed by timestamps
// and ranks, and wrapped by terminals. Here every run of white space is one blank, so that a phrase
// is found wherever its line breaks are, and every place still knows its line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/quantity.h"

namespace memtape {

class MessageText {
 public:
  explicit MessageText(std::string_view text);

  std::string_view flat() const { return flat_; }
  /// A line as it was, counted from 1.
  std::string_view line(std::size_t number) const { return lines_[number - 1]; }
  /// The line of a place in `flat`, counted from 1.
  std::size_t line_of(std::size_t at) const;
  /// The innermost line of the program's own code in the Python traceback that ends at `line` or
  /// above it: "train.py:42 step". It is "" if there is none.
  std::string place_above(std::size_t line) const;

 private:
  std::string flat_;
  std::vector<std::size_t> line_starts_;  ///< the places in `flat_` at which the lines begin
  std::vector<std::string_view> lines_;
};

/// The size before a phrase, or after it: quantity_before("...; 22.12 GiB already allocated", "
/// already allocated") is 22.12 GiB.
std::optional<Quantity> quantity_before(std::string_view text, std::string_view phrase);
std::optional<Quantity> quantity_after(std::string_view text, std::string_view phrase);

}  // namespace memtape
