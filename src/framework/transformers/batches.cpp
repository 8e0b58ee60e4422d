// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/batches.h"

#include <algorithm>
#include <utility>

#include "framework/torch/model_setup.h"
#include "framework/transformers/gather.h"
#include "framework/transformers/trainer_recipe.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

using ghost::Tensor;

/// sum += labels.ne(-100).sum(); sum() starts from the number 0.
void count_items(const Tensor& labels, Tensor& sum) {
  const Tensor counted = sum_of_bools(ghost::ne(labels, ghost::kIgnoreIndex));
  sum = sum.defined() ? sum.add(counted) : counted.add(0);
}

/// How many sequences so many rows hold.
std::int64_t sequences_in(std::int64_t rows, const TrainRecipe& recipe) {
  const SftRecipe& sft = *trainer_of(recipe).sft;
  const bool packs =
      ghost::session().training ? sft.packing : sft.eval_packing.value_or(sft.packing);
  if (!packs) return rows;
  return std::max(rows, *sft.packed_sequences * rows / recipe.micro_batch_size);
}

Inputs flattened_batch(const TrainRecipe& recipe, std::int64_t rows) {
  const ghost::Dims row{1, rows * recipe.sequence_length}, bounds{sequences_in(rows, recipe) + 1};
  const auto zeros = [](const ghost::Dims& sizes, DType dtype) {
    return ghost::zeros(sizes, dtype, Category::input);
  };
  Inputs batch;
  batch.input_ids = zeros(row, DType::int64);
  batch.labels = zeros(row, DType::int64);
  batch.position_ids = zeros(row, DType::int64);
  batch.cu_seq_lens_q = zeros(bounds, DType::int32);
  batch.cu_seq_lens_k = zeros(bounds, DType::int32);
  batch.seq_idx = zeros(row, DType::int32);
  return batch;
}

}  // namespace

Inputs collated_batch(const TrainRecipe& recipe, const family::PretrainedModel& model,
                      std::int64_t rows) {
  if (trainer_of(recipe).sft && trainer_of(recipe).sft->flattens())
    return flattened_batch(recipe, rows);
  const family::SampleSizes sample = torch::sample_sizes(model, recipe);
  const auto sizes = [&](const ghost::Dims& one) {
    ghost::Dims all{rows};
    for (const std::int64_t size : one) all = all.with(size);
    return all;
  };
  const auto zeros = [&](const std::optional<ghost::Dims>& one) {
    return one ? ghost::zeros(sizes(*one), DType::int64, Category::input) : Tensor();
  };
  Inputs batch;
  const bool is_one_label = sample.labels && sample.labels->rank() == 0;
  if (is_one_label && !trainer_of(recipe).reward) batch.labels = zeros(sample.labels);
  batch.input_ids = zeros(sample.input_ids);
  if (recipe.batch_has_mask || recipe.is_of_trl())
    batch.attention_mask = ghost::ones(sizes(*sample.input_ids), DType::int64, Category::input);
  if (!is_one_label && !trainer_of(recipe).reward) batch.labels = zeros(sample.labels);
  batch.start_positions = zeros(sample.positions);
  batch.end_positions = zeros(sample.positions);
  return batch;
}

Tensor num_items_in_batch(const TrainRecipe& recipe, std::span<const Inputs> batches,
                          bool shifts_labels) {
  Tensor sum;
  for (const Inputs& batch : batches)
    count_items(shifts_labels ? batch.labels.slice(-1, 1, batch.labels.size(-1)) : batch.labels,
                sum);
  if (recipe.layout.gpus > 1 && trainer_of(recipe).averages_tokens_across_devices) {
    Tensor rows = gather(sum, recipe.layout.gpus);
    sum = ghost::sum_all(std::move(rows));
  }
  ghost::session().set_category(sum, Category::input);
  return sum;
}

bool trains_on_pairs(const TrainRecipe& recipe) {
  return trainer_of(recipe).dpo || trainer_of(recipe).reward ||
         (recipe.program.trains_preferences() && !recipe.program.is_kto());
}

}  // namespace memtape::transformers
