// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/adapters.h"

#include <algorithm>
#include <array>
#include <span>

#include "framework/torch/strategy.h"

namespace memtape::litgpt {
namespace {

constexpr auto kPrograms =
    choices<LlamaAdapter>("", {{"adapter", LlamaAdapter::v1}, {"adapter_v2", LlamaAdapter::v2}});

constexpr auto kFields = std::to_array<ConfigField<Options>>({
    {"finetune", fields::pick<&Options::adapter, kPrograms>},
});

constexpr auto kOfLora = std::to_array<std::string_view>({"lora_"});
constexpr auto kOfAdapters = std::to_array<std::string_view>(
    {"adapter_wte", "gating_factor", "adapter_scale", "adapter_bias", "norm_1", "norm_2", "ln_f"});

}  // namespace

Result<void> read_strategy(std::string_view json, TrainRecipe& recipe) {
  return torch::read_strategy(json, kFields, recipe);
}

bool is_trained(std::string_view name, LlamaAdapter adapter) {
  std::span<const std::string_view> parts = kOfLora;
  if (adapter != LlamaAdapter::none)  // the first version has the prompts and their gates
    parts = std::span(kOfAdapters).first(adapter == LlamaAdapter::v1 ? 2 : kOfAdapters.size());
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace memtape::litgpt
