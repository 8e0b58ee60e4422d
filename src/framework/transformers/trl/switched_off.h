// SPDX-License-Identifier: Apache-2.0
// What trl switches off for a while: gradient checkpointing (disable_gradient_checkpointing) and,
// with it, adapters (PeftModel.disable_adapter), under which the policy is its own reference.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "family/pretrained.h"
#include "nn/layers.h"

namespace memtape::transformers::trl {

/// Checkpointing off while it lives.
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

/// Adapters off and checkpointing off while it lives.
class WithoutAdapters {
 public:
  explicit WithoutAdapters(family::PretrainedModel& model) : checkpointing_(model) {
    for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
      if (module.node->projection && module.node->projection->adapter)
        taken_.emplace_back(module.node->projection, std::move(module.node->projection->adapter));
  }
  ~WithoutAdapters() {
    for (auto& [projection, adapter] : taken_) projection->adapter = std::move(adapter);
  }
  WithoutAdapters(const WithoutAdapters&) = delete;
  WithoutAdapters& operator=(const WithoutAdapters&) = delete;

 private:
  WithoutCheckpointing checkpointing_;
  std::vector<std::pair<nn::Projection*, std::unique_ptr<nn::ProjectionAdapter>>> taken_;
};

}  // namespace memtape::transformers::trl
