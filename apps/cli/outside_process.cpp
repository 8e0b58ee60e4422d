// SPDX-License-Identifier: Apache-2.0
#include "outside_process.h"

#include <cstdlib>

#include <fmt/format.h>

#include "answer/release_options.h"
#include "base/text.h"
#include "recorded_answer.h"
#include "sources/container_file.h"
#include "sources/files.h"
#include "sources/gguf_file.h"
#include "sources/model_source.h"
#include "sources/python_environment.h"
#include "threads.h"

namespace memtape::cli {
namespace {

NamedReleases releases_in(const sources::PythonEnvironment& environment) {
  answer::Installed packages;
  for (const sources::InstalledPackage& installed : environment.packages)
    packages.emplace_back(installed.name, installed.version);
  return answer::releases_of(packages, environment.prefix.string());
}

}  // namespace

Result<ModelSource> OutsideProcess::model(const std::string& name) const {
  return sources::find_model_source(name, sources::HubSettings::of_process());
}

bool OutsideProcess::is_there(const std::string& path) const { return sources::is_there(path); }

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

Result<std::vector<Container>> OutsideProcess::containers(launch::ContainerRequest& request) const {
  return sources::read_containers(request);
}

Result<TrainAnswer> OutsideProcess::recorded(const answer::RawOptions& options) const {
  return recorded_answer(options);
}

Workers OutsideProcess::workers() const { return threads(); }

Result<ModelSource> OutsideOfPrediction::model(const std::string& name) const {
  Result<ModelSource> found = OutsideProcess::model(name);
  if (!found || !found->config) return found;
  for (const char* key : {"num_hidden_layers", "n_layers", "n_layer"})
    if (const auto layers = std::strtoll(found->config->json(key).c_str(), nullptr, 10); layers > 0)
      layers_ = layers;
  return found;
}

std::string OutsideOfPrediction::progress(std::chrono::seconds passed) const {
  const std::string of = layers_ > 0 ? fmt::format(" of {} layers", with_commas(layers_)) : "";
  return fmt::format("predicting for {} s: each allocation{} is made in turn; ctrl-C ends it",
                     passed.count(), of);
}

const OutsideProcess& outside_process() {
  static const OutsideProcess outside;
  return outside;
}

}  // namespace memtape::cli
