// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora_targets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/pattern.h"
#include "base/text.h"
#include "base/typed_number.h"

namespace memtape::torch {
namespace {

using nn::NamedModule;

/// TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING (peft 0.21, utils/constants.py).
struct DefaultTargets {
  std::string_view family;
  std::array<std::string_view, 4> names;
};
constexpr auto kDefaultTargets = std::to_array<DefaultTargets>({
    {"t5", {"q", "v"}},
    {"gpt2", {"c_attn"}},
    {"bloom", {"query_key_value"}},
    {"opt", {"q_proj", "v_proj"}},
    {"gptj", {"q_proj", "v_proj"}},
    {"gpt_neox", {"query_key_value"}},
    {"bert", {"query", "value"}},
    {"roberta", {"query", "value"}},
    {"llama", {"q_proj", "v_proj"}},
    {"llama4", {"q_proj", "v_proj"}},
    {"chatglm", {"query_key_value"}},
    {"mpt", {"Wqkv"}},
    {"falcon", {"query_key_value"}},
    {"mistral", {"q_proj", "v_proj"}},
    {"mixtral", {"q_proj", "v_proj"}},
    {"stablelm", {"q_proj", "v_proj"}},
    {"phi", {"q_proj", "v_proj", "fc1", "fc2"}},
    {"gemma", {"q_proj", "v_proj"}},
    {"gemma2", {"q_proj", "v_proj"}},
    {"gemma3_text", {"q_proj", "v_proj"}},
    {"qwen2", {"q_proj", "v_proj"}},
    {"qwen3", {"q_proj", "v_proj"}},
    {"nemotron_h", {"q_proj", "k_proj", "v_proj", "o_proj"}},
});

bool is_one_of(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// target_modules="all-linear": every projection but the output head, or a classifier's where
/// there is none (_maybe_include_all_linear_layers).
std::vector<NamedModule> all_linear(const std::vector<NamedModule>& modules,
                                    const LoraRecipe& recipe, std::string_view head) {
  const bool spares_task_heads = head.empty() && recipe.spares_task_heads;
  std::vector<NamedModule> chosen;
  for (const NamedModule& module : modules)
    if (module.node->projection && module.name != head &&
        !(spares_task_heads && is_one_of(recipe.task_heads, module.name)))
      chosen.push_back(module);
  return chosen;
}

/// Names a target may have had: the last parts of the names of all projections.
tl::unexpected<Error> unknown_target(const std::string& target,
                                     const std::vector<NamedModule>& modules) {
  if (target == kDefaultLoraTargets)
    return bad_input("peft has no target_modules of its own for this model",
                     "--lora-targets, --peft", "a list of module names, or \"all-linear\"");
  std::vector<std::string_view> names;
  for (const NamedModule& module : modules)
    if (module.node->projection &&
        std::find(names.begin(), names.end(), module.node->name) == names.end())
      names.push_back(module.node->name);
  return bad_input("no module of the model is called \"" + target + "\"", "--lora-targets",
                   suggestion(target, names));
}

/// target_modules as one text: the modules whose whole names it matches.
Result<std::vector<NamedModule>> matched(const std::vector<NamedModule>& modules,
                                         const std::string& pattern) {
  std::vector<NamedModule> chosen;
  for (const NamedModule& module : modules)
    if (full_match(pattern, module.name).value_or(false)) chosen.push_back(module);
  if (!chosen.empty()) return chosen;
  const auto projection = std::ranges::find_if(
      modules, [](const NamedModule& module) { return module.node->projection != nullptr; });
  return bad_input("no module's whole name matches \"" + pattern + "\"", "--peft: target_modules",
                   projection == modules.end() ? std::string("a list of module names")
                                               : "names are like " + projection->name);
}

/// peft passes over names that no module has, as lists for many models hold them, as long as one of
/// them is found (BaseTuner.inject_adapter).
Result<std::vector<NamedModule>> targeted(const std::vector<NamedModule>& modules,
                                          const LoraRecipe& recipe, std::string_view head) {
  if (!recipe.target_pattern.empty()) return matched(modules, recipe.target_pattern);
  if (recipe.targets.size() == 1 && recipe.targets.front() == "all-linear")
    return all_linear(modules, recipe, head);
  std::vector<NamedModule> chosen;
  for (const NamedModule& module : modules)
    if (std::any_of(recipe.targets.begin(), recipe.targets.end(),
                    [&](const std::string& target) { return names_module(target, module.name); }))
      chosen.push_back(module);
  if (chosen.empty()) return unknown_target(recipe.targets.front(), modules);
  return chosen;
}

/// The number after the list a module's layer is in: the last one that is not its own name.
std::optional<std::int64_t> layer_index(std::string_view name) {
  std::optional<std::int64_t> found;
  for (std::size_t at = name.find('.'); at != std::string_view::npos;) {
    const std::size_t next = name.find('.', at + 1);
    if (next == std::string_view::npos) break;
    if (const auto n = whole_number(name.substr(at + 1, next - at - 1))) found = n;
    at = next;
  }
  return found;
}

bool left_out(const LoraRecipe& recipe, std::string_view name) {
  if (std::any_of(recipe.exclude_modules.begin(), recipe.exclude_modules.end(),
                  [&](const std::string& excluded) { return names_module(excluded, name); }))
    return true;
  if (recipe.layers_to_transform.empty()) return false;
  const std::optional<std::int64_t> layer = layer_index(name);
  const auto& wanted = recipe.layers_to_transform;
  return !layer || std::find(wanted.begin(), wanted.end(), *layer) == wanted.end();
}

}  // namespace

std::vector<std::string> default_lora_targets(std::string_view family) {
  std::vector<std::string> targets;
  for (const DefaultTargets& row : kDefaultTargets)
    if (row.family == family)
      for (const std::string_view name : row.names)
        if (!name.empty()) targets.emplace_back(name);
  return targets;
}

bool names_module(std::string_view target, std::string_view name) {
  if (!name.ends_with(target)) return false;
  return name.size() == target.size() || name[name.size() - target.size() - 1] == '.';
}

Result<std::vector<NamedModule>> lora_targets(const std::vector<NamedModule>& modules,
                                              const LoraRecipe& recipe, std::string_view head) {
  Result<std::vector<NamedModule>> chosen = targeted(modules, recipe, head);
  if (!chosen) return chosen;
  std::erase_if(*chosen, [&](const NamedModule& m) {
    return left_out(recipe, m.name) ||
           std::any_of(recipe.modules_to_save.begin(), recipe.modules_to_save.end(),
                       [&](const std::string& saved) { return names_module(saved, m.name); });
  });
  if (chosen->empty())
    return bad_input("no module is left to adapt", "--peft",
                     "exclude_modules and layers_to_transform that leave some");
  return chosen;
}

std::int64_t rank_of(const LoraRecipe& recipe, std::string_view name) {
  for (const auto& [key, rank] : recipe.rank_pattern)
    if (names_module(key, name)) return rank;
  return recipe.rank;
}

}  // namespace memtape::torch
