// SPDX-License-Identifier: Apache-2.0
#include "workload/framework.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "workload/train_recipe.h"

namespace memtape {
namespace {

/// A value by which an option asks for nothing.
bool asks_for_nothing(std::string_view value) {
  return value == "none" || value.find_first_not_of(" \t\r\n{}") == std::string_view::npos;
}

/// Whether the framework models the option at all; of those that every framework takes: yes.
bool is_modelled(std::string_view option, const Framework& framework) {
  constexpr auto kOfLayouts =
      std::to_array<std::string_view>({"gpus", "dp", "zero", "tp", "sp", "pp", "vpp", "cp", "ep",
                                       "etp", "schedule", "rank", "offload"});
  if (option == "peft" || option == "quantization")
    return framework.argument && framework.argument(option);
  if (option == "quantize") return framework.takes.quantize;
  if (option == "loss") return false;
  return framework.takes.several_gpus || std::ranges::find(kOfLayouts, option) == kOfLayouts.end();
}

}  // namespace

Result<const Framework*> find_framework(std::string_view name, Frameworks frameworks) {
  std::vector<std::string_view> known;
  for (const Framework* framework : frameworks) {
    if (framework->name == name) return framework;
    known.push_back(framework->name);
  }
  return unsupported("framework \"" + std::string(name) + "\" is not modelled", "--framework",
                     suggestion(name, known));
}

tl::unexpected<Error> has_none(const Framework& framework, std::string_view what,
                               std::string_view option, std::string hint) {
  return bad_input("--framework " + std::string(framework.name) + " has no " + std::string(what),
                   "--" + std::string(option), std::move(hint));
}

Result<void> check_modelled(std::span<const NamedValue> options, const Framework& framework) {
  constexpr auto kNeutral =
      std::to_array<std::string_view>({"1", "0", "none", "all", "torch", "{}"});
  for (const auto& [name, value] : options) {
    if (is_modelled(name, framework)) continue;
    const bool is_stage = name == "zero" && value == "1";
    const bool is_neutral = std::ranges::find(kNeutral, value) != kNeutral.end();
    if ((is_neutral && !is_stage) || (name == "loss" && value == framework.takes.loss)) continue;
    const bool is_of_trainer = name == "quantize" || name == "quantization" || name == "peft";
    const std::string other =
        value == "chunked" ? "--framework torchtitan" : "--framework transformers";
    return unsupported(
        "\"" + value + "\" is not modelled by --framework " + std::string(framework.name),
        "--" + name, is_of_trainer || name == "loss" ? other + " has it" : "one GPU");
  }
  return {};
}

Result<void> check_framework_options(std::span<const NamedValue> options,
                                     const TrainRecipe& recipe) {
  const Framework& framework = *recipe.framework;
  for (const AbsentOption& absent : framework.absent) {
    const auto said = std::ranges::find_if(options, [&](const NamedValue& option) {
      return option.first == absent.option && !asks_for_nothing(option.second);
    });
    if (said != options.end())
      return has_none(framework, absent.what, absent.option, std::string(absent.hint));
  }
  return framework.check ? framework.check(options, recipe) : Result<void>{};
}

}  // namespace memtape
