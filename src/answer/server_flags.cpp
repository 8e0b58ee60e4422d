// SPDX-License-Identifier: Apache-2.0
#include "answer/server_flags.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "launch/words.h"
#include "release/flag_life.h"
#include "release/package.h"

namespace memtape::answer {
namespace {

std::optional<FlagLife> life_of(const ServeCommand& command, std::string_view flag) {
  const std::string name = fmt::format("{}/{}", command.engine, flag);
  const std::string_view row = launch::meaning_of(name, data::flag_releases());
  return row.empty() ? std::nullopt : std::optional<FlagLife>(row);
}

}  // namespace

void take_release_of_flags(ServeCommand& command) {
  const std::optional<Package> engine = find_package(command.engine);
  const auto names_release = [](const NamedValue& value) {
    return value.first == "engine-version" || value.first == "with";
  };
  if (!engine || std::ranges::any_of(command.values, names_release)) return;
  Version release = facts_of(*engine).newest;
  const auto stops = [&](std::string_view flag) {
    const std::optional<FlagLife> life = life_of(command, flag);
    return life && !life->is_in(release);
  };
  std::string_view decides;
  for (const std::string& flag : command.flags) {
    if (!stops(flag)) continue;
    const std::optional<Version> last = life_of(command, flag)->last();
    if (!last || *last >= release) return;
    release = *last;
    decides = flag;
  }
  if (decides.empty() || std::ranges::any_of(command.flags, stops)) return;
  command.values.emplace_back("engine-version", release.text());
  command.warnings.push_back(
      fmt::format("{} later than {} stops at {}: this is the answer for {}, unless "
                  "--engine-version before the -- says another",
                  command.engine, release.text(), decides, release.text()));
}

Result<void> check_flag_releases(const ServeCommand& command, const ServeRequest& request) {
  const std::optional<Package> engine = find_package(command.engine);
  if (!engine) return {};
  const std::string* said = request.options.find("engine-version");
  const auto release = said ? Version::parse(*said) : facts_of(*engine).newest;
  if (!release) return {};
  for (const std::string& flag : command.flags) {
    const std::optional<FlagLife> life = life_of(command, flag);
    if (!life || life->is_in(*release)) continue;
    std::string hint = life->hint();
    const std::string name = fmt::format("{}/{}", command.engine, flag);
    if (const auto meant = launch::meaning_of(name, data::meant_flags()); !meant.empty())
      hint = fmt::format("{}, or {}", meant, hint);
    return bad_input(
        fmt::format("{} {} stops at it: unrecognized arguments", command.engine, release->text()),
        flag, std::move(hint));
  }
  return {};
}

}  // namespace memtape::answer
