// SPDX-License-Identifier: Apache-2.0
#include "real_question.h"

#include <nlohmann/json.hpp>
#include "outside_process.h"

#include "answer/device_options.h"
#include "answer/train_request.h"
#include "framework/dialects.h"
#include "framework/train_arguments.h"
#include "predict/program.h"
#include "predict/settings.h"

namespace memtape::cli {
namespace {

/// Kernels choose as on an A100 where no GPU is named, here as in a prediction.
constexpr std::string_view kUsualGpu = "a100-80gb";

Result<void> check_recipe(const TrainRecipe& recipe) {
  const RealStep step = dialect_of(recipe).real_step;
  if (step == RealStep::none)
    return unsupported("only one GPU's step can be run beside a prediction", "--framework",
                       "--framework " + names_of_dialects([](const Dialect& dialect) {
                         return dialect.real_step != RealStep::none;
                       }));
  if (recipe.quantization) return unsupported("the script cannot quantize", "verify");
  if (recipe.is_of_trl())
    return unsupported("the script runs Trainer, and none of trl's trainers", "verify",
                       "--trainer trainer");
  if (step == RealStep::plain_loop && recipe.checkpointing == Checkpointing::full_reentrant)
    return unsupported("the script cannot checkpoint reentrantly", "verify");
  return {};
}

/// What the script is told: the settings as the answer repeats them, the LoraConfig as it was
/// typed and, for Trainer, the TrainingArguments.
std::vector<Setting> script_settings(const TrainRecipe& recipe, answer::OptionValues values) {
  std::vector<Setting> settings = resolved_settings(recipe);
  for (const auto& [name, value] : values)
    if (name == "peft") settings.push_back({"peft", value});
  if (!recipe.framework->takes.training_arguments) return settings;
  nlohmann::json words = nlohmann::json::array();
  for (const auto& [name, value] : values)
    if (is_training_argument(name))
      words.insert(words.end(), {"--" + name, value.empty() ? "true" : value});
  settings.push_back({"training_arguments", words.dump()});
  return settings;
}

phantom_run::Recipe recipe_of(const TrainRecipe& recipe) {
  if (dialect_of(recipe).real_step == RealStep::plain_loop) return phantom_run::Recipe::train_step;
  return recipe.program.is_plain_loop ? phantom_run::Recipe::accelerate_step
                                      : phantom_run::Recipe::trainer_step;
}

}  // namespace

Result<RealQuestion> real_question(const answer::RawOptions& options) {
  const Result<answer::TrainRequest> request = answer::train_request(options, outside_process());
  if (!request) return tl::unexpected(request.error());
  if (const Result<void> can = check_recipe(request->recipe); !can)
    return tl::unexpected(can.error());
  auto source = outside_process().model(options.model);
  if (!source) return tl::unexpected(source.error());
  if (!source->config) return unsupported("no config.json", source->where);
  const Result<TrainRecipe> settled = resolved(request->recipe, *source->config);
  if (!settled) return tl::unexpected(settled.error());
  const TrainRecipe& recipe = *settled;
  const std::string* placement = last_value(options.values, "driver-placement");
  return RealQuestion{
      .request = *request,
      .source = std::move(*source),
      .recipe = recipe,
      .settings = script_settings(recipe, request->values),
      .gpu = request->device.gpu ? *request->device.gpu : find_gpu(kUsualGpu).value(),
      .placement = placement ? *placement : "linux"};
}

phantom_run::StepRequest step_of(const RealQuestion& q, const std::string& python,
                                 const std::string& id) {
  return {.recipe = recipe_of(q.recipe),
          .name = id.empty() ? q.source.id : id,
          .config = *q.source.config,
          .settings = q.settings,
          .gpu = q.gpu,
          .placement = q.placement,
          .python = python};
}

}  // namespace memtape::cli
