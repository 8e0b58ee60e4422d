// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/prepared_model.h"

#include <utility>

#include "framework/transformers/parallel_model.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers {

using family::Batch;
using family::ModelOutput;
using ghost::Tensor;

namespace {

Tensor as_float32(const Tensor& output) {
  const bool converts = output.defined() && bits(output.dtype()) == 16;
  return converts ? output.to_float() : output;
}

}  // namespace

PreparedModel::PreparedModel(const TrainRecipe& recipe, family::PretrainedModel& model, Role role)
    : recipe_(recipe),
      model_(model),
      forward_([this](const Batch& inputs) { return model_.forward(inputs); }),
      is_patched_(parallelism_of(recipe) != Parallelism::fsdp2 &&
                  (role == Role::trained || !trainer_of(recipe).fsdp)) {}

ModelOutput PreparedModel::operator()(const Batch& inputs) const {
  if (!wrapper_) return unwrapped(inputs);
  return wrapper_->forward([this](const Batch& batch) { return unwrapped(batch); }, inputs);
}

void PreparedModel::call(const std::function<torch::DrivenModel::Outputs()>& forward,
                         Callee callee) const {
  const auto patched = [&] { return autocasting(forward); };
  // ZeRO 3's hooks are the model's own.
  if (wrapper_ && (callee == Callee::model_wrapped || trainer_of(recipe_).fsdp || gather_))
    wrapper_->call(patched);
  else
    patched();
}

ModelOutput PreparedModel::unwrapped(const Batch& inputs) const {
  const ModelOutput original = autocasting([&] { return forward_(inputs); });
  if (!is_patched_ || !recipe_.autocasts()) return original;
  // convert_to_fp32 of accelerate: one output after the other.
  Tensor logits = as_float32(original.logits);
  return {original.loss, std::move(logits), as_float32(original.encoder_last_hidden_state),
          as_float32(original.end_logits)};
}

}  // namespace memtape::transformers
