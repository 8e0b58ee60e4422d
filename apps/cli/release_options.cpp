// SPDX-License-Identifier: Apache-2.0
#include "release_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "launch/requirements.h"
#include "sources/files.h"
#include "sources/python_environment.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kLargestLockFile = std::size_t{16} << 20;

std::string variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? value : "";
}

/// The followed packages that are installed there, of each the first that is found.
NamedReleases releases_in(const sources::PythonEnvironment& environment) {
  NamedReleases releases;
  for (const sources::InstalledPackage& installed : environment.packages) {
    const std::optional<Package> package = find_package(installed.name);
    const std::optional<Version> version = Version::parse(installed.version);
    if (!package || !version) continue;
    if (std::ranges::find(releases.named, *package) != releases.named.end()) continue;
    releases.named.push_back(*package);
    releases.release.set(*package, *version);
  }
  std::ranges::sort(releases.named);
  if (!releases.named.empty()) releases.from = "environment " + environment.prefix.string();
  return releases;
}

Result<NamedReleases> releases_of_file(const std::string& path) {
  const Result<std::string> text = sources::read_text_file(path, kLargestLockFile);
  if (!text) return tl::unexpected(text.error());
  Result<launch::Requirements> found = launch::read_requirements(*text, path);
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

Result<NamedReleases> starting_releases(OptionValues values) {
  const std::string* file = last_value(values, "requirements");
  const std::string* python = last_value(values, "python");
  if (file && python)
    return bad_input("both name releases", "--requirements, --python", "name one of them");
  if (file) return releases_of_file(*file);
  if (python) {
    const auto environment = sources::environment_at(*python);
    if (!environment) return tl::unexpected(environment.error());
    NamedReleases releases = releases_in(*environment);
    if (releases.named.empty())
      return bad_input("holds no package that is followed", *python, "one with torch, say");
    releases.from = "--python " + *python;
    return releases;
  }
  if (names_releases(values)) return NamedReleases{};
  if (const std::string named = variable("MEMTAPE_WITH"); !named.empty()) {
    if (named == "none") return NamedReleases{};
    auto releases = parse_requirement_list(named, "MEMTAPE_WITH");
    if (releases) releases->from = "MEMTAPE_WITH";
    return releases;
  }
  const auto environment = sources::active_environment(variable);
  return environment ? releases_in(*environment) : NamedReleases{};
}

}  // namespace memtape::cli
