// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/batches.h"

#include <utility>

#include "framework/torch/model_setup.h"
#include "framework/transformers/gather.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

using family::Batch;
using ghost::Tensor;

/// sum += labels.ne(-100).sum(); sum() starts from the number 0.
void count_items(const Tensor& labels, Tensor& sum) {
  const Tensor counted = sum_of_bools(ghost::comparison("ne", labels));
  sum = sum.defined() ? sum.add(counted) : counted.add(0);
}

}  // namespace

Batch collated_batch(const TrainRecipe& recipe, const family::PretrainedModel& model,
                     std::int64_t rows) {
  const family::SampleSizes sample = torch::sample_sizes(model, recipe);
  const auto sizes = [&](const ghost::Dims& one) {
    ghost::Dims all{rows};
    for (const std::int64_t size : one) all = all.with(size);
    return all;
  };
  const auto zeros = [&](const std::optional<ghost::Dims>& one) {
    return one ? ghost::zeros(sizes(*one), DType::int64, Category::input) : Tensor();
  };
  Batch batch;
  const bool is_one_label = sample.labels && sample.labels->rank() == 0;
  if (is_one_label && !recipe.trainer.reward) batch.labels = zeros(sample.labels);
  batch.input_ids = zeros(sample.input_ids);
  if (recipe.trainer.batch_has_mask || recipe.trainer.is_of_trl())
    batch.attention_mask = ghost::ones(sizes(*sample.input_ids), DType::int64, Category::input);
  if (!is_one_label && !recipe.trainer.reward) batch.labels = zeros(sample.labels);
  batch.start_positions = zeros(sample.positions);
  batch.end_positions = zeros(sample.positions);
  return batch;
}

Tensor num_items_in_batch(const TrainRecipe& recipe, std::span<const Batch> batches,
                          bool shifts_labels) {
  Tensor sum;
  for (const Batch& batch : batches)
    count_items(shifts_labels ? batch.labels.slice(-1, 1, batch.labels.size(-1)) : batch.labels,
                sum);
  if (recipe.layout.gpus > 1 && recipe.trainer.averages_tokens_across_devices) {
    Tensor rows = gather(sum, recipe.layout.gpus);
    sum = ghost::sum_all(std::move(rows));
  }
  ghost::session().set_category(sum, Category::input);
  return sum;
}

}  // namespace memtape::transformers
