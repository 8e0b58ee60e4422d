// SPDX-License-Identifier: Apache-2.0
#include "release/requirement_list.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"

namespace memtape {
namespace {

std::vector<std::string_view> package_names() {
  std::vector<std::string_view> names;
  for (const PackageFacts& facts : packages()) names.push_back(facts.name);
  return names;
}

/// Packages that are installed beside the followed ones under names like theirs.
constexpr auto kOthers = std::to_array<std::string_view>(
    {"torchao", "torchaudio", "torchdata", "torchtune", "torchvision", "torchrec", "torchmetrics"});

/// The followed package that a name is a slip of; "" where it is none.
std::string_view meant_by(std::string_view name, std::span<const std::string_view> known) {
  if (std::ranges::find(kOthers, name) != kOthers.end()) return {};
  return nearest(name, known);
}

struct Pair {
  std::string_view name, version;
};

Result<Pair> pair_of(std::string_view text, std::string_view where) {
  const std::size_t at = text.find("==");
  if (at == std::string_view::npos || at == 0 || at + 2 == text.size())
    return bad_input(fmt::format("\"{}\" names no release", text), std::string(where),
                     "NAME==VERSION with commas between, like torch==2.8.0,transformers==4.57.6");
  return Pair{trimmed(text.substr(0, at)), trimmed(text.substr(at + 2))};
}

Result<void> put_release(Package package, const Pair& pair, std::string_view where,
                         NamedReleases& releases) {
  const std::optional<Version> version = Version::parse(pair.version);
  if (!version)
    return bad_input(fmt::format("\"{}\" is no version of {}", pair.version, pair.name),
                     std::string(where), fmt::format("like {}", facts_of(package).newest.text()));
  const bool again = std::ranges::find(releases.named, package) != releases.named.end();
  if (again && releases.release.of(package) != *version)
    return bad_input(fmt::format("two versions of {}: {} and {}", pair.name,
                                 releases.release.of(package).text(), version->text()),
                     std::string(where), "name one");
  releases.release.set(package, *version);
  if (!again) releases.named.push_back(package);
  return {};
}

}  // namespace

Result<NamedReleases> parse_requirement_list(std::string_view list, std::string_view where,
                                             const Release& start) {
  NamedReleases releases{.release = start, .named = {}, .ignored = {}};
  const std::vector<std::string_view> known = package_names();
  for (const std::string& item : split_at_commas(list)) {
    const Result<Pair> pair = pair_of(item, where);
    if (!pair) return tl::unexpected(pair.error());
    if (const std::optional<Package> package = find_package(pair->name)) {
      if (const Result<void> fine = put_release(*package, *pair, where, releases); !fine)
        return tl::unexpected(fine.error());
    } else if (const std::string_view near = meant_by(pair->name, known); !near.empty()) {
      return bad_input(fmt::format("\"{}\" is no package", pair->name), std::string(where),
                       fmt::format("did you mean {}?", near));
    } else {
      releases.ignored.emplace_back(pair->name);
    }
  }
  return releases;
}

}  // namespace memtape
