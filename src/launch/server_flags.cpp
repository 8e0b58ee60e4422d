// SPDX-License-Identifier: Apache-2.0
#include "launch/server_flags.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// "0.6.3 0.6.4 0.12.0 0.13.0": the last release before that lacks it, the first and the last that
/// have it, the first that lacks it again; "-" where there is none.
struct Life {
  explicit Life(std::string_view row) : parts(parts_between(row, ' ')) {}

  bool has(Version release) const {
    const auto not_yet = Version::parse(parts[0]), no_longer = Version::parse(parts[3]);
    return !(not_yet && release <= *not_yet) && !(no_longer && release >= *no_longer);
  }

  std::string hint() const {
    if (parts[2] == "-") return fmt::format("{} has it", parts[1]);
    return fmt::format("{} to {} had it: --engine-version {}", parts[1], parts[2], parts[2]);
  }

  std::vector<std::string_view> parts;
};

}  // namespace

std::string_view meant_flag(std::string_view engine, std::string_view typed) {
  std::string name(typed);
  if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
  return meaning_of(fmt::format("{}/{}", engine, name), data::meant_flags());
}

Result<void> check_flag_releases(std::string_view engine, std::span<const std::string> flags,
                                 Version release) {
  for (const std::string& flag : flags) {
    const std::string_view row =
        meaning_of(fmt::format("{}/{}", engine, flag), data::flag_releases());
    if (row.empty() || Life(row).has(release)) continue;
    std::string hint = Life(row).hint();
    if (const auto meant = meant_flag(engine, flag); !meant.empty())
      hint = fmt::format("{}, or {}", meant, hint);
    return bad_input(
        fmt::format("{} {} stops at it: unrecognized arguments", engine, release.text()), flag,
        std::move(hint));
  }
  return {};
}

}  // namespace memtape::launch
