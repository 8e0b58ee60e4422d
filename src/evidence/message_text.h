// SPDX-License-Identifier: Apache-2.0
// MessageText: a log as people paste it. Messages are broken over lines, prefixed by timestamps and
// ranks, wrapped by terminals; here every run of white space is one blank, so that a phrase is
// found wherever its line breaks fall, and each place still knows its line.
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
  /// The line, from 1, in which a place of `flat` lies.
  std::size_t line_of(std::size_t at) const;
  /// The innermost line of the program's own code in the Python traceback that ends at or above
  /// `line`: "train.py:42 step"; "" when there is none.
  std::string place_above(std::size_t line) const;

 private:
  std::string flat_;
  std::vector<std::size_t> line_starts_;  ///< where in `flat_` each line begins
  std::vector<std::string_view> lines_;
};

/// The size before or after a phrase: quantity_before("...; 22.12 GiB already allocated", " already
/// allocated") is 22.12 GiB.
std::optional<Quantity> quantity_before(std::string_view text, std::string_view phrase);
std::optional<Quantity> quantity_after(std::string_view text, std::string_view phrase);

}  // namespace memtape
