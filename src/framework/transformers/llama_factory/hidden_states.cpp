// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/llama_factory/hidden_states.h"

#include "nn/layers.h"

namespace memtape::transformers::llama_factory {

using ghost::Tensor;

HiddenStates::HiddenStates(family::PretrainedModel& model) : model_(model) {
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (module.node->is_layer) module.node->hooks.push_back(&layers_);
  model.head()->node().hooks.push_back(&head_);
}

family::ModelOutput HiddenStates::forward(const family::Batch& batch) {
  forget();
  collects_ = true;
  family::ModelOutput output = model_.forward(batch);
  collects_ = false;
  return output;
}

void HiddenStates::Layers::before_forward(Tensor& input) {
  if (all_.collects_ && all_.collected_.empty()) all_.collected_.push_back(input);
}

void HiddenStates::Layers::after_forward(Tensor& output) {
  if (all_.collects_) all_.collected_.push_back(output);
}

void HiddenStates::Head::before_forward(Tensor& input) {
  if (all_.collects_) all_.collected_.back() = input;
}

}  // namespace memtape::transformers::llama_factory
