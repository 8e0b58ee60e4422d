// SPDX-License-Identifier: Apache-2.0
#include "answer/release_options.h"

#include <algorithm>
#include <array>

#include "formats/requirements.h"

namespace memtape::answer {
namespace {

constexpr std::size_t kLargestLockFile = std::size_t{16} << 20;

Result<NamedReleases> releases_of_file(const std::string& path, const Outside& outside) {
  const Result<std::string> text = outside.text(path, kLargestLockFile);
  if (!text) return tl::unexpected(text.error());
  Result<Requirements> found = read_requirements(*text, path);
  if (!found) return tl::unexpected(found.error());
  if (found->releases.named.empty())
    return bad_input("pins no release that is followed", path,
                     found->unpinned.empty() ? "a file with torch==2.8.0 or the like"
                                             : found->unpinned.front() + " is no single release");
  found->releases.from = "--requirements " + path;
  return std::move(found->releases);
}

bool names_releases(OptionValues values) {
  constexpr std::array<std::string_view, 3> kDirect{"with", "transformers-version",
                                                    "litgpt-version"};
  return std::ranges::any_of(
      kDirect, [&](std::string_view name) { return last_value(values, name) != nullptr; });
}

}  // namespace

NamedReleases releases_of(const Installed& packages, const std::string& place) {
  NamedReleases releases;
  for (const auto& [name, number] : packages) {
    const std::optional<Package> package = find_package(name);
    const std::optional<Version> version = Version::parse(number);
    if (!package || !version) continue;
    if (std::ranges::find(releases.named, *package) != releases.named.end()) continue;
    releases.named.push_back(*package);
    releases.release.set(*package, *version);
  }
  std::ranges::sort(releases.named);
  if (!releases.named.empty()) releases.from = "environment " + place;
  return releases;
}

Result<NamedReleases> starting_releases(OptionValues values, const Outside& outside) {
  const std::string* file = last_value(values, "requirements");
  const std::string* python = last_value(values, "python");
  if (file && python)
    return bad_input("both name releases", "--requirements, --python", "name one of them");
  if (file) return releases_of_file(*file, outside);
  if (python) {
    Result<NamedReleases> releases = outside.installed(*python);
    if (!releases) return releases;
    if (releases->named.empty())
      return memtape::bad_input("holds no package that is followed", *python,
                                "one with torch, say");
    releases->from = "--python " + *python;
    return releases;
  }
  if (names_releases(values)) return NamedReleases{};
  if (const auto named = outside.variable("MEMTAPE_WITH"); named && !named->empty()) {
    if (*named == "none") return NamedReleases{};
    auto releases = parse_requirement_list(*named, "MEMTAPE_WITH");
    if (releases) releases->from = "MEMTAPE_WITH";
    return releases;
  }
  return outside.installed("");
}

}  // namespace memtape::answer
