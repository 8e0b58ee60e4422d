// SPDX-License-Identifier: Apache-2.0
#include "answer/server_flags.h"

#include <fmt/format.h>

#include "launch/words.h"
#include "release/flag_life.h"
#include "release/package.h"

namespace memtape::answer {

Result<void> check_flag_releases(const ServeCommand& command, const ServeRequest& request) {
  const std::optional<Package> engine = find_package(command.engine);
  if (!engine) return {};
  const std::string* said = request.options.find("engine-version");
  const auto release = said ? Version::parse(*said) : facts_of(*engine).newest;
  if (!release) return {};
  for (const std::string& flag : command.flags) {
    const std::string name = fmt::format("{}/{}", command.engine, flag);
    const std::string_view row = launch::meaning_of(name, data::flag_releases());
    if (row.empty() || FlagLife(row).is_in(*release)) continue;
    std::string hint = FlagLife(row).hint();
    if (const auto meant = launch::meaning_of(name, data::meant_flags()); !meant.empty())
      hint = fmt::format("{}, or {}", meant, hint);
    return bad_input(
        fmt::format("{} {} stops at it: unrecognized arguments", command.engine, release->text()),
        flag, std::move(hint));
  }
  return {};
}

}  // namespace memtape::answer
