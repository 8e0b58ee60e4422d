// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/prepared_model.h"

#include <utility>

namespace memtape::transformers {

using family::Batch;
using family::ModelOutput;

PreparedModel::PreparedModel(const TrainRecipe& recipe, family::PretrainedModel& model)
    : recipe_(recipe),
      model_(model),
      forward_([this](const Batch& inputs) { return model_.forward(inputs); }) {}

ModelOutput PreparedModel::operator()(const Batch& inputs) const {
  const ModelOutput original = autocasting([&] { return forward_(inputs); });
  const bool converts =
      recipe_.autocasts() && original.logits.defined() && bits(original.logits.dtype()) == 16;
  return {original.loss, converts ? original.logits.to_float() : original.logits};
}

}  // namespace memtape::transformers
