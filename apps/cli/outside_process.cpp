// SPDX-License-Identifier: Apache-2.0
#include "outside_process.h"

#include <algorithm>
#include <cstdlib>

#include "recorded_answer.h"
#include "sources/container_file.h"
#include "sources/files.h"
#include "sources/gguf_file.h"
#include "sources/model_source.h"
#include "sources/python_environment.h"
#include "threads.h"

namespace memtape::cli {
namespace {

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

}  // namespace

Result<ModelSource> OutsideProcess::model(const std::string& name) const {
  return sources::find_model_source(name, sources::HubSettings::of_process());
}

Result<llamacpp::GgufHeader> OutsideProcess::gguf(const std::string& name) const {
  return sources::read_gguf_file(name);
}

Result<std::string> OutsideProcess::text(const std::string& name, std::size_t limit) const {
  return sources::read_text_file(name, limit);
}

std::optional<std::string> OutsideProcess::variable(std::string_view name) const {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<NamedReleases> OutsideProcess::installed(const std::string& python) const {
  if (!python.empty()) {
    const auto environment = sources::environment_at(python);
    if (!environment) return tl::unexpected(environment.error());
    return releases_in(*environment);
  }
  const auto environment = sources::active_environment(
      [this](std::string_view name) { return variable(name).value_or(""); });
  return environment ? releases_in(*environment) : NamedReleases{};
}

Result<std::vector<launch::Container>> OutsideProcess::containers(
    launch::ContainerRequest& request) const {
  return sources::read_containers(request);
}

Result<TrainAnswer> OutsideProcess::recorded(const answer::RawOptions& options) const {
  return recorded_answer(options);
}

Workers OutsideProcess::workers() const { return threads(); }

const OutsideProcess& outside_process() {
  static const OutsideProcess outside;
  return outside;
}

}  // namespace memtape::cli
