// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/disable_dropout.h"

#include <array>
#include <string>
#include <string_view>

namespace memtape::transformers {
namespace {

/// The rates that a model's class gives to modules (transformers 5.17).
struct ModuleRates {
  std::string_view model_type;
  std::array<std::string_view, 3> keys;
};
constexpr auto kModuleRates = std::to_array<ModuleRates>({
    {"gpt2", {"resid_pdrop", "embd_pdrop", "attn_pdrop"}},
    {"gpt_bigcode", {"resid_pdrop", "embd_pdrop"}},
    {"gpt_neo", {"resid_dropout", "embed_dropout", "attention_dropout"}},
    {"gptj", {"resid_pdrop", "embd_pdrop", "attn_pdrop"}},
    {"codegen", {"resid_pdrop", "embd_pdrop", "attn_pdrop"}},
    {"gpt_neox", {"hidden_dropout"}},
    {"phi", {"resid_pdrop", "embd_pdrop"}},
});

}  // namespace

bool disables_dropout(const TrainRecipe& recipe) {
  const TrainerRecipe& trainer = recipe.trainer;
  if (recipe.program.trains_preferences()) return !recipe.program.trains_value_head();
  if (trainer.reward) return trainer.reward->disable_dropout;
  if (trainer.grpo) return trainer.grpo->disable_dropout;
  if (trainer.kto) return trainer.kto->disable_dropout;
  if (trainer.cpo) return trainer.cpo->disable_dropout;
  return trainer.dpo && trainer.dpo->disable_dropout;
}

Config without_dropout(const Config& config) {
  const std::string type = config.text("model_type", "");
  Config without = config;
  for (const ModuleRates& rates : kModuleRates)
    if (rates.model_type == type)
      for (const std::string_view key : rates.keys)
        if (!key.empty()) without = without.with_integer(key, 0);
  return without;
}

}  // namespace memtape::transformers
