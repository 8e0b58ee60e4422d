// SPDX-License-Identifier: Apache-2.0
#include "answer/paths_elsewhere.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/catalog.h"
#include "model/model_name.h"

namespace memtape::answer {

void take_model_by_name(const launch::Translation& said, const Outside& outside, RawOptions& raw) {
  if (!is_path(raw.model) || outside.is_there(raw.model)) return;
  PathModel named = model_of_path(raw.model);
  const bool is_gguf = !named.file_type.empty();
  if (named.id.empty()) named.id = model_of_path(said.served_name).id;
  if (named.id.empty() || (is_gguf && said.engine != "llamacpp")) return;
  std::string line = fmt::format("{} is not on this machine: the answer is for {}{}", raw.model,
                                 named.id, find_model(named.id) ? " of the catalog" : "");
  if (is_gguf) {
    raw.values.emplace_back("quantize", named.file_type);
    line += fmt::format(", as llama-quantize makes {} of it", named.file_type);
  }
  raw.remarks.warnings.push_back(std::move(line));
  raw.model = named.id;
}

void take_draft_by_name(const Outside& outside, RawOptions& raw) {
  const auto draft = std::ranges::find(raw.values, "spec-draft-model",
                                       [](const auto& value) { return value.first; });
  if (draft == raw.values.end() || !is_path(draft->second) || outside.is_there(draft->second))
    return;
  const PathModel named = model_of_path(draft->second);
  if (named.id.empty() || named.file_type.empty()) return;
  raw.remarks.warnings.push_back(fmt::format(
      "{} is not on this machine: the draft is taken to be {}, as llama-quantize makes {} of it",
      draft->second, named.id, named.file_type));
  draft->second = named.id;
  raw.values.emplace_back("spec-draft-quantize", named.file_type);
}

}  // namespace memtape::answer
