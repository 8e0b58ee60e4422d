// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/lora.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "framework/torch/lora_targets.h"
#include "framework/torchtune/levers.h"
#include "workload/train_recipe.h"

namespace memtape::torchtune {

Result<Lora> read_lora(const TrainRecipe& recipe) {
  Lora lora{.rank = recipe.lora->rank, .dropout = recipe.lora->dropout};
  struct Target {
    std::string_view name;
    bool Lora::* adapted;
  };
  constexpr auto kTargets = std::to_array<Target>({{"q_proj", &Lora::query},
                                                   {"k_proj", &Lora::key},
                                                   {"v_proj", &Lora::value},
                                                   {"output_proj", &Lora::output_proj},
                                                   {"mlp", &Lora::mlp},
                                                   {"output", &Lora::output},
                                                   // the same, as transformers names them
                                                   {"o_proj", &Lora::output_proj},
                                                   {"gate_proj", &Lora::mlp},
                                                   {"up_proj", &Lora::mlp},
                                                   {"down_proj", &Lora::mlp},
                                                   {"lm_head", &Lora::output}});
  std::vector<std::string_view> known;
  for (const Target& target : kTargets) known.push_back(target.name);
  for (const std::string& name : recipe.lora->targets) {
    const auto found = std::ranges::find(kTargets, name, &Target::name);
    if (found == kTargets.end())
      return bad_input("\"" + name + "\" is no part that torchtune adapts", "--lora-targets",
                       suggestion(name, known));
    lora.*(found->adapted) = true;
  }
  return lora;
}

TrainRecipe resolved(TrainRecipe recipe, const Config&) {
  if (recipe.lora && (recipe.lora->targets.empty() ||
                      recipe.lora->targets == std::vector{std::string(torch::kDefaultLoraTargets)}))
    recipe.lora->targets = {"q_proj", "v_proj"};
  const auto& levers = recipe.own.of<Levers>();
  if (levers.compiles && !levers.is_packed)
    recipe.not_modelled.emplace_back(
        "layers compiled over rows that are not packed are one graph, whose gradients come at its "
        "end; here they come as from the four graphs over packed rows");
  return recipe;
}

}  // namespace memtape::torchtune
