// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/lora.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace memtape::torchtune {

Result<Lora> read_lora(const LoraRecipe& recipe) {
  Lora lora{.rank = recipe.rank, .dropout = recipe.dropout};
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
  for (const std::string& name : recipe.targets) {
    const auto found = std::ranges::find(kTargets, name, &Target::name);
    if (found == kTargets.end())
      return bad_input("\"" + name + "\" is no part that torchtune adapts", "--lora-targets",
                       suggestion(name, known));
    lora.*(found->adapted) = true;
  }
  return lora;
}

}  // namespace memtape::torchtune
