// SPDX-License-Identifier: Apache-2.0
// What trl switches off for a while: gradient checkpointing (disable_gradient_checkpointing) and,
// with it, adapters (PeftModel.disable_adapter), so that the policy is its own reference.
#pragma once

#include <vector>

#include "family/pretrained.h"
#include "framework/torch/lora_layer.h"

namespace memtape::transformers::trl {

/// Checkpointing is off as long as this lives.
class WithoutCheckpointing {
 public:
  explicit WithoutCheckpointing(family::PretrainedModel& model)
      : tree_(model.tree), checkpointing_(model.tree.gradient_checkpointing) {
    tree_.gradient_checkpointing = nn::GradientCheckpointing::off;
  }
  ~WithoutCheckpointing() { tree_.gradient_checkpointing = checkpointing_; }
  WithoutCheckpointing(const WithoutCheckpointing&) = delete;
  WithoutCheckpointing& operator=(const WithoutCheckpointing&) = delete;

 private:
  nn::ModuleTree& tree_;
  nn::GradientCheckpointing checkpointing_;
};

/// Adapters and checkpointing are off as long as this lives.
class WithoutAdapters {
 public:
  explicit WithoutAdapters(family::PretrainedModel& model) : checkpointing_(model) {
    for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
      if (auto* adapter = adapter_of(*module.node)) disabled_.push_back(adapter);
    for (torch::LoraLinear* adapter : disabled_) adapter->enabled = false;
  }
  ~WithoutAdapters() {
    for (torch::LoraLinear* adapter : disabled_) adapter->enabled = true;
  }
  WithoutAdapters(const WithoutAdapters&) = delete;
  WithoutAdapters& operator=(const WithoutAdapters&) = delete;

 private:
  static torch::LoraLinear* adapter_of(const nn::ModuleNode& node) {
    return node.projection ? dynamic_cast<torch::LoraLinear*>(node.projection->adapter.get())
                           : nullptr;
  }

  WithoutCheckpointing checkpointing_;
  std::vector<torch::LoraLinear*> disabled_;
};

}  // namespace memtape::transformers::trl
