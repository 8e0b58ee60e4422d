// SPDX-License-Identifier: Apache-2.0
#include "release/flag_life.h"

#include <fmt/format.h>

#include "base/comma_list.h"

namespace memtape {

FlagLife::FlagLife(std::string_view row) : parts_(parts_between(row, ' ')) {}

bool FlagLife::is_in(Version release) const {
  const auto not_yet = Version::parse(parts_[0]), no_longer = Version::parse(parts_[3]);
  return !(not_yet && release <= *not_yet) && !(no_longer && release >= *no_longer);
}

std::optional<Version> FlagLife::last() const { return Version::parse(parts_[2]); }

std::string FlagLife::hint() const {
  if (parts_[2] == "-") return fmt::format("{} has it", parts_[1]);
  return fmt::format("{} to {} had it: --engine-version {}", parts_[1], parts_[2], parts_[2]);
}

}  // namespace memtape
