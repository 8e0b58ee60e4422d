// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/freeze.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/comma_list.h"
#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::torch {
namespace {

struct CharacterSet {
  std::string_view members;
  bool negated = false;
  std::size_t length = 0;  ///< of the whole [..] in the pattern
};

/// The [..] a pattern begins with; nothing when it is not closed: then [ is an ordinary character.
std::optional<CharacterSet> character_set(std::string_view pattern) {
  const bool negated = pattern.size() > 1 && pattern[1] == '!';
  const std::size_t first = negated ? 2 : 1;
  const std::size_t close = pattern.find(']', first + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return CharacterSet{pattern.substr(first, close - first), negated, close + 1};
}

bool contains(const CharacterSet& set, char c) {
  const std::string_view m = set.members;
  for (std::size_t i = 0; i < m.size(); ++i) {
    if (i + 2 < m.size() && m[i + 1] == '-') {
      if (m[i] <= c && c <= m[i + 2]) return !set.negated;
      i += 2;
    } else if (m[i] == c) {
      return !set.negated;
    }
  }
  return set.negated;
}

/// How much of the pattern matches the one character `c`; 0 when it does not.
std::size_t match_one(std::string_view pattern, char c) {
  if (pattern.empty()) return 0;
  if (pattern.front() == '?') return 1;
  if (pattern.front() == '[')
    if (const std::optional<CharacterSet> set = character_set(pattern))
      return contains(*set, c) ? set->length : 0;
  return pattern.front() == c ? 1 : 0;
}

/// "model.visual.blocks.0.norm1.weight": one of its parts is called as towers are.
bool is_of_tower(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"visual", "vision_tower", "vision_model", "multi_modal_projector", "connector",
       "embed_vision", "audio_tower", "embed_audio"});
  return std::ranges::any_of(parts_between(name, '.'), [&](std::string_view part) {
    return std::ranges::find(kNames, part) != kNames.end();
  });
}

}  // namespace

bool fnmatch(std::string_view name, std::string_view pattern) {
  std::string_view after_star;            // what follows the last *
  std::optional<std::string_view> retry;  // the name from where that * may take one character more
  while (!name.empty()) {
    if (!pattern.empty() && pattern.front() == '*') {
      after_star = pattern = pattern.substr(1);
      retry = name;
    } else if (const std::size_t used = match_one(pattern, name.front())) {
      pattern.remove_prefix(used);
      name.remove_prefix(1);
    } else if (retry) {
      retry->remove_prefix(1);
      name = *retry;
      pattern = after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

Result<void> freeze(const std::vector<nn::ModuleNode::Named>& parameters,
                    const std::vector<std::string>& globs) {
  for (const std::string& glob : globs) {
    bool is_known = false;
    for (const nn::ModuleNode::Named& parameter : parameters)
      if (glob == kTowers ? is_of_tower(parameter.name) : fnmatch(parameter.name, glob)) {
        parameter.tensor.impl().requires_grad = false;
        is_known = true;
      }
    if (!is_known && glob != kTowers)
      return bad_input("\"" + glob + "\" matches no parameter", "--freeze",
                       parameters.empty() ? "" : "names are like " + parameters.front().name);
  }
  return {};
}

void train_layers_alone(const std::vector<nn::ModuleNode::Named>& parameters, std::int64_t layers,
                        std::int64_t of) {
  const std::int64_t first = layers > 0 ? std::max<std::int64_t>(0, of - layers) : 0;
  const std::int64_t end = layers > 0 ? of : std::min(-layers, of);
  const auto is_trained = [&](const std::string& name) {
    for (std::int64_t id = first; id < end; ++id)
      if (name.find("." + std::to_string(id) + ".") != std::string::npos) return true;
    return false;
  };
  for (const nn::ModuleNode::Named& parameter : parameters)
    if (!is_trained(parameter.name)) parameter.tensor.impl().requires_grad = false;
}

void upcast_trained(const std::vector<nn::ModuleNode::Named>& parameters) {
  const ghost::GradMode no_grad(false);
  for (const nn::ModuleNode::Named& parameter : parameters) {
    const ghost::Tensor& p = parameter.tensor;
    if (!p.requires_grad() || p.dtype() == DType::float32) continue;
    const ghost::Tensor whole = p.to_float();
    ghost::session().set_category(whole, Category::parameter);
    p.impl().storage = whole.impl().storage;
    p.impl().dtype = DType::float32;
  }
}

}  // namespace memtape::torch
