// SPDX-License-Identifier: Apache-2.0
#include "workload/framework.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "workload/train_recipe.h"

namespace memtape {
namespace {

/// A value by which an option asks for nothing.
bool asks_for_nothing(std::string_view value) {
  return value == "none" || value.find_first_not_of(" \t\r\n{}") == std::string_view::npos;
}

constexpr auto kOfLayouts =
    std::to_array<std::string_view>({"gpus", "dp", "zero", "tp", "sp", "pp", "vpp", "cp", "ep",
                                     "etp", "schedule", "rank", "offload"});

/// The framework that lays a model out as the options say, for people who named none.
std::string framework_of_layout(std::span<const NamedValue> options) {
  const auto says = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names, [&](auto name) { return last_value(options, name); });
  };
  if (says({"fsdp", "deepspeed"})) return "--framework transformers, whose Trainer takes that";
  if (says({"zero", "offload"})) return "--framework deepspeed";
  if (says({"tp", "sp", "pp", "vpp", "cp", "ep", "etp", "schedule"}))
    return "--framework megatron-core";
  return "--framework fsdp2, ddp, deepspeed or transformers";
}

/// Whether the framework models the option at all; of those that every framework takes: yes.
bool is_modelled(std::string_view option, const Framework& framework) {
  if (option == "peft" || option == "quantization")
    return framework.argument && framework.argument(option);
  if (option == "quantize") return framework.takes.quantize;
  if (option == "loss") return false;
  return framework.takes.several_gpus || std::ranges::find(kOfLayouts, option) == kOfLayouts.end();
}

/// What people call by other names, and how that is said here.
constexpr auto kMeantFrameworks = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"pytorch", "torch"},
    {"hf", "transformers"},
    {"huggingface", "transformers"},
    {"trainer", "transformers"},
    {"accelerate", "transformers; fsdp2, ddp or deepspeed for a loop of one's own"},
    {"peft", "transformers or torch with --lora-rank N"},
    {"trl", "transformers with --trainer sft, or memtape -- trl sft ..."},
    {"axolotl", "memtape -- axolotl train FILE.yml"},
    {"llama-factory", "memtape -- llamafactory-cli train FILE.yaml"},
    {"llamafactory", "memtape -- llamafactory-cli train FILE.yaml"},
    {"unsloth", "its own kernels are not modelled: transformers with --qlora is nearest"},
    {"lightning", "ddp, fsdp2 or deepspeed, as its strategy says"},
    {"fsdp", "fsdp2 is fully_shard, fsdp1 FullyShardedDataParallel"},
    {"zero1", "deepspeed with --zero 1"},
    {"zero2", "deepspeed with --zero 2"},
    {"zero3", "deepspeed with --zero 3"},
    {"megatron", "did you mean megatron-core?"},
    {"megatron-lm", "did you mean megatron-core?"},
});

}  // namespace

Result<const Framework*> find_framework(std::string_view name, Frameworks frameworks) {
  std::vector<std::string_view> known;
  for (const Framework* framework : frameworks) {
    if (framework->name == name) return framework;
    known.push_back(framework->name);
  }
  const auto meant =
      std::ranges::find(kMeantFrameworks, name, &decltype(kMeantFrameworks)::value_type::first);
  return unsupported(
      "framework \"" + std::string(name) + "\" is not modelled", "--framework",
      meant == kMeantFrameworks.end() ? suggestion(name, known) : std::string(meant->second));
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
    const std::string other =
        value == "chunked" ? "--framework torchtitan" : "--framework transformers";
    if (std::ranges::find(kOfLayouts, name) != kOfLayouts.end())
      return unsupported(std::string(framework.name) + " is modelled on one GPU", "--" + name,
                         framework_of_layout(options));
    return unsupported(
        "\"" + value + "\" is not modelled by --framework " + std::string(framework.name),
        "--" + name, other + " has it");
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
