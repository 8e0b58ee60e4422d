// SPDX-License-Identifier: Apache-2.0
#include "side_models.h"

#include <algorithm>

#include "sources/gguf_file.h"

namespace memtape::cli {

Result<SideModels> SideModels::read(const ServeCommand& command) {
  SideModels side;
  for (const auto& [name, value] : command.values) {
    if (name != "spec-draft-model" && name != "lora") continue;
    const Result<void> added = name == "lora" ? side.add_adapters(value) : side.add_draft(value);
    if (!added) return tl::unexpected(added.error());
  }
  return side;
}

Result<void> SideModels::add_draft(const std::string& name) {
  if (name.ends_with(".gguf")) {
    Result<llamacpp::GgufHeader> file = sources::read_gguf_file(name);
    if (!file) return tl::unexpected(file.error());
    draft_ = {.id = name, .gguf = &files_.emplace_back(*std::move(file))};
    return {};
  }
  auto source = sources::find_model_source(name, sources::HubSettings::of_process());
  if (!source) return tl::unexpected(source.error());
  const sources::ModelSource& kept = sources_.emplace_back(*std::move(source));
  draft_ = {.id = kept.id, .config = kept.config ? &*kept.config : nullptr};
  return {};
}

namespace {

/// Without the scale that may follow it.
std::string file_of(std::string_view adapter) {
  const std::size_t colon = adapter.rfind(':');
  const bool scaled = colon != std::string_view::npos && colon + 1 < adapter.size() &&
                      adapter.find_first_not_of("0123456789.-", colon + 1) == adapter.npos;
  return std::string(scaled ? adapter.substr(0, colon) : adapter);
}

}  // namespace

Result<void> SideModels::add_adapters(const std::string& names) {
  std::string_view rest = names;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string name = file_of(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    Result<llamacpp::GgufHeader> file = sources::read_gguf_file(name);
    if (!file) return tl::unexpected(file.error());
    adapters_.push_back({.id = name, .gguf = &files_.emplace_back(*std::move(file))});
  }
  return {};
}

}  // namespace memtape::cli
