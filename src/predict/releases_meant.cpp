// SPDX-License-Identifier: Apache-2.0
#include "predict/releases_meant.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "framework/dialects.h"
#include "release/release_costs.h"

namespace memtape {
namespace {

/// The newest release with which plain steps were recorded and compared; zero where none were.
Version newest_recorded(Package package) {
  const std::span<const Version> recorded = recorded_releases(package);
  return recorded.empty() ? Version{} : recorded.back();
}

/// Whether plain steps with a release that is newer than those known throughout were recorded, or
/// with a later one.
bool is_recorded_release(Package package, Version meant) {
  const Version recorded = newest_recorded(package);
  return std::pair(meant.major, meant.minor) <= std::pair(recorded.major, recorded.minor) &&
         meant > facts_of(package).newest;
}

}  // namespace

std::vector<Package> packages_of(const TrainRecipe& recipe) {
  std::vector<Package> packages = dialect_of(recipe).packages(recipe);
  const auto add = [&packages](Package package) {
    if (std::ranges::find(packages, package) == packages.end()) packages.push_back(package);
  };
  if (recipe.quantization) add(Package::bitsandbytes);
  for (const Package named : recipe.named_releases) add(named);
  return packages;
}

std::vector<Setting> release_settings(const TrainRecipe& recipe) {
  std::string releases;
  for (const Package package : packages_of(recipe))
    releases +=
        fmt::format("{}{}: {}", releases.empty() ? "" : ", ", json_quoted(facts_of(package).name),
                    json_quoted(recipe.release.of(package).text()));
  std::vector<Setting> settings{{"releases", "{" + releases + "}"}};
  const std::string_view from = recipe.releases_from;
  const std::size_t place = from == kNewestKnown ? from.npos : from.find(' ');
  settings.push_back({"releases_from", json_quoted(from.substr(0, place))});
  if (place != from.npos)
    settings.push_back({"releases_place", json_quoted(from.substr(place + 1))});
  return settings;
}

std::string releases_in_words(const TrainRecipe& recipe) {
  std::string words;
  for (const Package package : packages_of(recipe))
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", facts_of(package).name,
                         recipe.release.of(package).text());
  return fmt::format("{} ({})", words, recipe.releases_from);
}

std::vector<std::string> release_warnings(const TrainRecipe& recipe) {
  std::vector<std::string> lines;
  for (const Package package : packages_of(recipe)) {
    const PackageFacts& facts = facts_of(package);
    const Version meant = recipe.release.of(package);
    const bool is_newer =
        std::pair(meant.major, meant.minor) > std::pair(facts.newest.major, facts.newest.minor);
    if (!is_newer && meant >= facts.oldest) continue;
    if (is_recorded_release(package, meant)) {
      if (dialect_of(recipe).framework.takes.several_gpus && recipe.releases_from != kNewestKnown)
        lines.push_back(
            fmt::format("{} {} is known for the plain loop on one GPU alone: what else "
                        "this program does is taken to be as in {}",
                        facts.name, meant.text(), facts.newest.text()));
      continue;
    }
    // Every named change is in force for it, and so the rules of the last release that has one.
    if (is_newer)
      lines.push_back(fmt::format(
          "{} {} is newer than the newest release that is known: the answer is that of "
          "{}",
          facts.name, meant.text(), std::max(facts.newest, newest_recorded(package)).text()));
    else
      lines.push_back(
          fmt::format("{0} {1} is older than {2}, the oldest release that is known whole: beside "
                      "the few changes that are known, the answer is that of {2}",
                      facts.name, meant.text(), facts.oldest.text()));
  }
  return lines;
}

}  // namespace memtape
