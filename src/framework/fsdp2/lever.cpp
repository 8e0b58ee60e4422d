// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/lever.h"

#include <string>

#include "framework/fsdp2/options.h"
#include "framework/torch/strategy.h"

namespace memtape::fsdp2 {

std::vector<Lever> reduced_each(const TrainRecipe& recipe) {
  const Options& said = said_options(recipe);
  if (recipe.gradient_accumulation < 2 || said.requires_gradient_sync) return {};
  const bool says_nothing = said.json.find('"') == std::string::npos;
  const std::string strategy = said.json.substr(0, said.json.rfind('}')) +
                               (says_nothing ? "" : ", ") + R"("requires_gradient_sync": true})";
  return {{{{"strategy", strategy}}, std::string(kReducesEach)}};
}

}  // namespace memtape::fsdp2
