// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/batches.h"

#include <utility>

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

Batch collated_batch(const TrainRecipe& recipe, std::int64_t rows) {
  const ghost::Dims sizes{rows, recipe.sequence_length};
  Batch batch;
  batch.input_ids = ghost::zeros(sizes, DType::int64, Category::input);
  if (recipe.trainer.batch_has_mask || recipe.trainer.is_of_trl())
    batch.attention_mask = ghost::ones(sizes, DType::int64, Category::input);
  if (!recipe.trainer.reward) batch.labels = ghost::zeros(sizes, DType::int64, Category::input);
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
