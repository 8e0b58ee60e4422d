// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/evaluation_loop.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/transformers/batches.h"
#include "framework/transformers/gather.h"
#include "framework/transformers/micro_batch.h"
#include "framework/transformers/trainer_recipe.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

using ghost::Tensor;

/// As many as show the peak where nothing but the losses piles up, and as are run at most.
constexpr std::int64_t kFewBatches = 3, kMostBatches = 512;

std::int64_t batches_of(const TrainRecipe& recipe) {
  const EvaluationRecipe& evaluation = recipe.evaluation;
  if (evaluation.samples == 0) return kFewBatches;
  const std::int64_t at_once = evaluation.batch_size * recipe.layout.gpus;
  return (evaluation.samples + at_once - 1) / at_once;
}

/// Whether a longer evaluation holds more.
bool piles_up(const EvaluationRecipe& evaluation) {
  return evaluation.computes_metrics && !evaluation.prediction_loss_only &&
         !evaluation.batch_eval_metrics && !evaluation.accumulation_steps;
}

}  // namespace

std::optional<std::string> evaluation_left_out(const TrainRecipe& recipe) {
  if (!recipe.evaluation.runs) return std::nullopt;
  const TrainerRecipe& trainer = trainer_of(recipe);
  constexpr const char* kLeft =
      " is not modelled: the figures are those of the training step, and an evaluation batch "
      "larger than a training batch may need more";
  if (recipe.program.is_plain_loop && is_classification(recipe.task))
    return std::string("evaluation of classifiers without Trainer") + kLeft;
  if (recipe.program.is_plain_loop && recipe.task == Task::seq2seq_lm)
    return std::string("evaluation by generate()") + kLeft;
  if (recipe.program.trains_preferences())
    return std::string("evaluation in LLaMA-Factory's trainer of preferences") + kLeft;
  const bool computes_logits =
      recipe.evaluation.computes_metrics && !recipe.evaluation.prediction_loss_only;
  if (!recipe.is_of_trl()) return std::nullopt;
  if (!trainer.grpo && !computes_logits) return std::nullopt;
  return std::string("evaluation of this kind in trl's trainers") + kLeft;
}

Result<void> check_evaluation(const TrainRecipe& recipe) {
  const EvaluationRecipe& evaluation = recipe.evaluation;
  if (!evaluation.runs) return {};
  if (piles_up(evaluation) && batches_of(recipe) > kMostBatches)
    return bad_input(
        "more evaluation batches than are modelled", "--eval_samples",
        "at most " + std::to_string(kMostBatches * evaluation.batch_size * recipe.layout.gpus));
  return {};
}

void EvaluationLoop::run() const {
  ghost::Session& session = ghost::session();
  const bool training = std::exchange(session.training, false);
  const EvaluationRecipe& evaluation = recipe_.evaluation;
  const std::int64_t count = std::min(batches_of(recipe_), kMostBatches);
  Containers all;
  Inputs inputs;
  Prediction predicted;
  for (std::int64_t i = 0; i < count; ++i) {
    inputs = micro_batch(recipe_, model_, evaluation.batch_size);
    predicted = prediction_step(inputs);
    gather_into(all, predicted, inputs);
    const bool moves =
        evaluation.accumulation_steps && (i + 1) % *evaluation.accumulation_steps == 0;
    if (moves) all = {};  // to_cpu_and_numpy
    if (!moves && !evaluation.batch_eval_metrics) continue;
    predicted = {};
    inputs = {};
    session.tape.empty_cache();
  }
  session.training = training;
}

EvaluationLoop::Prediction EvaluationLoop::prediction_step(const Inputs& inputs) const {
  const ghost::GradMode no_grad(false);
  if (of_trl_) return {.losses = of_trl_->compute_loss(inputs), .labels = {}, .logits = {}};
  Inputs counted = inputs;
  if (inputs.labels.defined())
    counted.num_items_in_batch = num_items_in_batch(recipe_, {&inputs, 1}, shifts_labels_);
  const family::ModelOutput outputs = objective_.compute(counted);
  Prediction predicted;
  predicted.losses = ghost::mean_all(outputs.loss);
  if (!keeps_logits()) return predicted;
  for (const Tensor& output :
       {outputs.logits, outputs.end_logits, outputs.encoder_last_hidden_state})
    if (output.defined()) predicted.logits.push_back(output);
  for (const Tensor& label : {inputs.labels, inputs.start_positions, inputs.end_positions})
    if (label.defined()) predicted.labels.push_back(label);
  return predicted;
}

/// EvalLoopContainer.add
void EvaluationLoop::add(std::vector<Tensor>& container, const Tensor& tensor) const {
  if (container.empty() || !recipe_.evaluation.concatenates) return container.push_back(tensor);
  container.front() = ghost::cat({container.front(), tensor}, 0);
}

void EvaluationLoop::gather_into(Containers& all, Prediction& predicted,
                                 const Inputs& inputs) const {
  const std::int64_t ranks = recipe_.layout.gpus;
  const EvaluationRecipe& evaluation = recipe_.evaluation;
  const bool keeps = !evaluation.batch_eval_metrics;
  predicted.losses = gather_repeated(predicted.losses, evaluation.batch_size, ranks);
  add(all.losses, predicted.losses);
  if (evaluation.includes_inputs) {
    pad_across_processes(inputs.input_ids, ranks);
    const Tensor inputs_decode = gather(inputs.input_ids, ranks);
    if (keeps) add(all.inputs, inputs_decode);
  }
  if (predicted.logits.empty()) return;
  for (const Tensor& label : predicted.labels) pad_across_processes(label, ranks);
  for (const Tensor& output : predicted.logits) pad_across_processes(output, ranks);
  for (Tensor& output : predicted.logits) output = gather(output, ranks);
  all.logits.resize(predicted.logits.size());
  {
    const std::vector<std::vector<Tensor>> before = all.logits;  // nested_concat makes a new tuple
    for (std::size_t i = 0; keeps && i < predicted.logits.size(); ++i)
      add(all.logits[i], predicted.logits[i]);
  }
  for (Tensor& label : predicted.labels) label = gather(label, ranks);
  all.labels.resize(predicted.labels.size());
  for (std::size_t i = 0; keeps && i < predicted.labels.size(); ++i)
    add(all.labels[i], predicted.labels[i]);
}

}  // namespace memtape::transformers
