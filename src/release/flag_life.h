// SPDX-License-Identifier: Apache-2.0
// FlagLife: between which releases a program took one of its flags.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "release/version.h"

namespace memtape {

class FlagLife {
 public:
  /// "0.6.3 0.6.4 0.12.0 0.13.0": the last release before that lacks it, the first and the last that
  /// have it, and the first that lacks it again; "-" where there is none.
  explicit FlagLife(std::string_view row);

  bool is_in(Version release) const;
  /// The last release that has it, if a later one lacks it.
  std::optional<Version> last() const;
  /// Who has it, as a hint.
  std::string hint() const;

 private:
  std::vector<std::string_view> parts_;
};

}  // namespace memtape
