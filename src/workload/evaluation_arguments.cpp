// SPDX-License-Identifier: Apache-2.0
#include "workload/evaluation_arguments.h"

#include <algorithm>
#include <array>
#include <string>

#include "workload/typed_values.h"

namespace memtape {
namespace {

Result<void> set_strategy(const NamedValue& option, TrainRecipe& recipe) {
  constexpr auto kStrategies =
      std::to_array<std::string_view>({"no", "steps", "epoch", "true", "false"});
  if (std::find(kStrategies.begin(), kStrategies.end(), option.second) == kStrategies.end())
    return wrong_value(option, "no, steps or epoch");
  recipe.trainer.evaluation.runs = option.second != "no" && option.second != "false";
  return {};
}

/// Scripts evaluate once when training is over.
Result<void> set_do_eval(const NamedValue& option, TrainRecipe& recipe) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (*on) recipe.trainer.evaluation.runs = true;
  return {};
}

/// A whole number of steps; a ratio is one of all steps, whose number is not known here.
Result<void> set_eval_steps(const NamedValue& option, TrainRecipe& recipe) {
  const Result<double> steps = not_negative(option);
  if (!steps) return tl::unexpected(steps.error());
  if (*steps >= 1.0) recipe.trainer.evaluation.every_steps = static_cast<std::int64_t>(*steps);
  return {};
}

using EvaluationSetter = Result<void> (*)(const NamedValue&, TrainRecipe&);
struct EvaluationField {
  std::string_view name;
  EvaluationSetter set;
};
constexpr auto kEvaluationFields = std::to_array<EvaluationField>({
    {"eval_strategy", set_strategy},
    {"eval_steps", set_eval_steps},
    {"do_eval", set_do_eval},
    {"eval_on_start", set_do_eval},
    {"per_device_eval_batch_size",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(positive(o), r.trainer.evaluation.batch_size);
     }},
    {"prediction_loss_only",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.trainer.evaluation.prediction_loss_only);
     }},
    {"eval_accumulation_steps",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(positive(o), r.trainer.evaluation.accumulation_steps);
     }},
    {"eval_do_concat_batches",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.trainer.evaluation.concatenates);
     }},
    {"batch_eval_metrics",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.trainer.evaluation.batch_eval_metrics);
     }},
    {"include_for_metrics",
     [](const NamedValue& o, TrainRecipe& r) -> Result<void> {
       r.trainer.evaluation.includes_inputs = o.second.find("inputs") != std::string::npos;
       return {};
     }},
    {"compute_metrics",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(boolean(o), r.trainer.evaluation.computes_metrics);
     }},
    {"eval_samples", [](const NamedValue& o,
                        TrainRecipe& r) { return put(positive(o), r.trainer.evaluation.samples); }},
});

constexpr auto kEvaluationNames = [] {
  std::array<std::string_view, kEvaluationFields.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEvaluationFields[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> evaluation_argument_names() { return kEvaluationNames; }

bool is_evaluation_argument(std::string_view name) {
  return std::find(kEvaluationNames.begin(), kEvaluationNames.end(), name) !=
         kEvaluationNames.end();
}

Result<void> set_evaluation_argument(const NamedValue& option, TrainRecipe& recipe) {
  for (const EvaluationField& field : kEvaluationFields)
    if (field.name == option.first) return field.set(option, recipe);
  return {};
}

}  // namespace memtape
