// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/earlier_releases.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "framework/transformers/trainer_recipe.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

/// The loss of these trainers that releases before the fused head take in ways of their own.
std::string untranscribed(const TrainRecipe& recipe) {
  const TrainerRecipe& trainer = trainer_of(recipe);
  if (trainer.grpo && !recipe.release.has(changes::kTrlTakesLogSoftmaxByRow))
    return "what GRPOTrainer makes of a batch, all completions of each of its prompts,";
  if (trainer.kto) return "KTOTrainer's loss over whole logits";
  if (trainer.sft && recipe.release.has(changes::kTrlChunksSft) && trainer.sft->loss_type == "nll")
    return "SFTTrainer's loss in chunks of the vocabulary (chunked_nll)";
  if (trainer.sft && trainer.sft->loss_type != "nll") return "SFTTrainer's dft over whole logits";
  return "";
}

}  // namespace

void take_defaults_of_release(std::span<const NamedValue> options, TrainRecipe& recipe) {
  const Release& release = recipe.release;
  TrainerRecipe& trainer = trainer_of(recipe);
  if (!recipe.is_of_trl()) return;
  const auto says = [options](std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(
        names, [options](std::string_view name) { return last_value(options, name) != nullptr; });
  };
  if (!release.has(changes::kTrlCheckpoints) &&
      !says({"gradient_checkpointing", "gradient-checkpointing"}))
    recipe.checkpointing = Checkpointing::none;
  if (!release.has(changes::kTrlAutocasts) && !says({"bf16", "fp16", "precision"}))
    recipe.precision = Precision::fp32;
  if (!release.has(changes::kTrlCutsAt1024) && !trainer.sft && !trainer.grpo &&
      !says({"max_length"}))
    trainer.max_length = 512;
  if (!trainer.grpo) return;
  if (!release.has(changes::kTrlCompletesTo512) && !says({"max_completion_length"}))
    trainer.grpo->max_completion_length = 256;
  if (!release.has(changes::kTrlGrpoHasNoReference) && !trainer.grpo->leaves_one_out &&
      !says({"beta"}))
    trainer.grpo->beta = 0.04;
}

Result<void> settle_release(TrainRecipe& recipe) {
  const Release& release = recipe.release;
  const TrainerRecipe& trainer = trainer_of(recipe);
  if (release.has(changes::kTrlFusesHead) || !recipe.is_of_trl()) return {};
  const std::string meant = "trl " + release.of(Package::trl).text();
  if (trainer.grpo && trainer.grpo->leaves_one_out && !release.has(changes::kTrlHasOnlineRloo))
    return unsupported(meant + "'s RLOOTrainer has a loop of its own, which is not modelled",
                       "--with", "trl 0.22.0 or later");
  if (trainer.grpo && !release.has(changes::kTrlHasGrpo))
    return bad_input(meant + " has no GRPOTrainer", "--with", "trl 0.14.0 or later");
  if (const std::string what = untranscribed(recipe); !what.empty())
    recipe.not_modelled.push_back(
        fmt::format("{}: {} is not transcribed: that of trl {} is counted", meant, what,
                    facts_of(Package::trl).newest.text()));
  return {};
}

}  // namespace memtape::transformers::trl
