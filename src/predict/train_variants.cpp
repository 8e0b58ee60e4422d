// SPDX-License-Identifier: Apache-2.0
#include "predict/train_variants.h"

#include "framework/train_arguments.h"
#include "report/headline.h"

namespace memtape {

VariantAnswer answer_variant(const ModelRequest& model, const CommandWords& command,
                             const TrainVariant& variant) {
  VariantAnswer brief;
  const auto recipe = command.read(with_changes(command.values, variant.changes));
  const auto answer =
      recipe ? predict_train(model, *recipe, variant.device, {.largest = 0, .advise = false})
             : Result<TrainAnswer>(tl::unexpected(recipe.error()));
  if (!answer) {
    brief.failure = answer.error().line();
    return brief;
  }
  const Prediction& prediction = answer->prediction;
  brief.needed_bytes = report::needed(prediction);
  if (prediction.within_limit_bytes)
    brief.without_limit_bytes = report::peak_rank(prediction).peak_device_bytes;
  brief.low_bytes = prediction.bounds.low_bytes;
  brief.high_bytes = prediction.bounds.high_bytes;
  brief.device = prediction.device;
  brief.verdict = prediction.verdict;
  brief.fits = prediction.fits;
  brief.headroom_bytes = prediction.headroom_bytes;
  return brief;
}

std::vector<VariantAnswer> answer_variants(const ModelRequest& model, const CommandWords& command,
                                           const std::vector<TrainVariant>& variants,
                                           const Workers& workers) {
  std::vector<VariantAnswer> answers(variants.size());
  workers.share(variants.size(), [&](std::size_t, std::size_t at) {
    answers[at] = answer_variant(model, command, variants[at]);
  });
  return answers;
}

}  // namespace memtape
