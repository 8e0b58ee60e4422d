// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/prepared_model.h"

#include <utility>

#include "framework/transformers/parallel_model.h"

namespace memtape::transformers {

using family::Batch;
using family::ModelOutput;

PreparedModel::PreparedModel(const TrainRecipe& recipe, family::PretrainedModel& model)
    : recipe_(recipe),
      model_(model),
      forward_([this](const Batch& inputs) { return model_.forward(inputs); }),
      is_patched_(parallelism_of(recipe) != Parallelism::fsdp2) {}

ModelOutput PreparedModel::operator()(const Batch& inputs) const {
  if (!wrapper_) return patched(inputs);
  return wrapper_->forward([this](const Batch& batch) { return patched(batch); }, inputs);
}

ModelOutput PreparedModel::patched(const Batch& inputs) const {
  if (!is_patched_) return forward_(inputs);
  const ModelOutput original = autocasting([&] { return forward_(inputs); });
  const bool converts =
      recipe_.autocasts() && original.logits.defined() && bits(original.logits.dtype()) == 16;
  return {original.loss, converts ? original.logits.to_float() : original.logits};
}

}  // namespace memtape::transformers
