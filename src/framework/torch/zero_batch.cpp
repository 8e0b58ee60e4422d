// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/zero_batch.h"

#include <optional>

#include "framework/torch/model_setup.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::torch {

family::Batch zero_batch(const family::PretrainedModel& model, const TrainRecipe& recipe,
                         LabelsOfInputs labels) {
  const family::SampleSizes sizes = sample_sizes(model, recipe);
  const auto zeros = [&](const std::optional<ghost::Dims>& sample, DType dtype) {
    if (!sample) return ghost::Tensor();
    ghost::Dims batch{recipe.micro_batch_size};
    for (const std::int64_t size : *sample) batch = batch.with(size);
    return ghost::zeros(batch, dtype, Category::input);
  };
  family::Batch batch;
  batch.pixel_values = zeros(sizes.pixel_values, recipe.parameter_dtype());
  batch.input_features = zeros(sizes.input_features, recipe.parameter_dtype());
  batch.input_ids = zeros(sizes.input_ids, DType::int64);
  if (sizes.positions) {
    batch.start_positions = zeros(sizes.positions, DType::int64);
    batch.end_positions = zeros(sizes.positions, DType::int64);
    return batch;
  }
  if (sizes.input_ids != sizes.labels) {
    batch.labels = zeros(sizes.labels, DType::int64);
    return batch;
  }
  batch.labels = labels == LabelsOfInputs::same_tensor ? batch.input_ids : batch.input_ids.clone();
  ghost::session().set_category(batch.labels, Category::input);
  return batch;
}

}  // namespace memtape::torch
