// SPDX-License-Identifier: Apache-2.0
#include "answer/side_models.h"

#include "base/comma_list.h"
#include "framework/vllm/speculation.h"

namespace memtape::answer {

Result<SideModels> SideModels::read(const ServeCommand& command, const Outside& outside) {
  SideModels side;
  for (const auto& [name, value] : command.values) {
    Result<void> added;
    if (name == "spec-draft-model" || name == "assistant_model")
      added = side.add_draft(value, outside);
    if (name == "speculative-config") added = side.add_proposer(value, outside);
    if (name == "lora" || name == "mmproj") added = side.add_adapters(value, outside);
    if (!added) return tl::unexpected(added.error());
  }
  return side;
}

SideModels SideModels::drafted_by(const std::string& name, const Config& config) {
  SideModels side;
  side.draft_ = {.id = name, .config = &config};
  return side;
}

Result<const ModelSource*> SideModels::add_source(const std::string& name, const Outside& outside) {
  auto source = outside.model(name);
  if (!source) return tl::unexpected(source.error());
  return &sources_.emplace_back(*std::move(source));
}

Result<void> SideModels::add_draft(const std::string& name, const Outside& outside) {
  if (name.ends_with(".gguf")) {
    Result<llamacpp::GgufHeader> file = outside.gguf(name);
    if (!file) return tl::unexpected(file.error());
    draft_ = {.id = name, .gguf = &files_.emplace_back(*std::move(file))};
    return {};
  }
  const auto source = add_source(name, outside);
  if (!source) return tl::unexpected(source.error());
  draft_ = {.id = (*source)->id, .config = (*source)->config ? &*(*source)->config : nullptr};
  return {};
}

Result<void> SideModels::add_proposer(const std::string& speculation, const Outside& outside) {
  const Result<std::string> model = vllm::drafter_name(speculation);
  if (!model) return tl::unexpected(model.error());
  if (model->empty()) return {};
  const auto source = add_source(*model, outside);
  if (!source) return tl::unexpected(source.error());
  if (!(*source)->config) return bad_input("has no config.json", *model, "a drafter with one");
  draft_ = {.id = (*source)->id, .config = &*(*source)->config};
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

Result<void> SideModels::add_adapters(const std::string& names, const Outside& outside) {
  for (const std::string& adapter : split_at_commas(names)) {
    const std::string name = file_of(adapter);
    Result<llamacpp::GgufHeader> file = outside.gguf(name);
    if (!file) return tl::unexpected(file.error());
    adapters_.push_back({.id = name, .gguf = &files_.emplace_back(*std::move(file))});
  }
  return {};
}

}  // namespace memtape::answer
