// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/skipped_layers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "framework/vllm/methods/layer_pattern.h"

namespace memtape::vllm {

std::string path_of_text(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kRenamed{
      {{"model.language_model.", "model."}, {"language_model.", ""}, {"backbone.", "model."}}};
  for (const auto& [theirs, ours] : kRenamed)
    if (name.starts_with(theirs)) return std::string(ours) + name.substr(theirs.size());
  return name;
}

std::string first_part_of(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kParts{
      {{"qkv_proj", "q_proj"},
       {"gate_up_proj", "gate_proj"},
       {"fused_qkv_a_proj", "q_a_proj"},
       {"in_proj_qkvz", "in_proj_qkv"},
       {"in_proj_ba", "in_proj_b"}}};
  for (const auto& [fused, part] : kParts)
    if (path.ends_with(fused))
      return std::string(path.substr(0, path.size() - fused.size())) + std::string(part);
  return {};
}

Skipped::Skipped(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::string& name : names_) name = path_of_text(name);
}

bool Skipped::has(const std::string& prefix) const {
  if (names(prefix)) return true;
  const std::string part = first_part_of(prefix);
  return !part.empty() && names(part);
}

bool Skipped::names(const std::string& layer) const {
  return std::ranges::any_of(names_, [&](const std::string& name) {
    if (name.starts_with("re:")) return matches_expression(name.substr(3), layer);
    if (name.find('*') != std::string::npos) return matches_shell_pattern(name, layer);
    return layer == name || layer.ends_with("." + name);
  });
}

}  // namespace memtape::vllm
