// SPDX-License-Identifier: Apache-2.0
// StageModule: what a PipelineStage runs (its submod), and what a schedule asks of it if it is an
// FSDPModule. Its parameters are gathered before the stage's first action and stay whole; its
// gradients stay whole until the backward of the last micro-batch and are then reduced
// (_PipelineStageBase.backward_maybe_with_nosync, perform_reduce_grad). For a module that is no
// FSDPModule, these functions do nothing.
#pragma once

#include <vector>

#include "family/parts/stage_parts.h"

namespace memtape::torch_pp {

class StageModule {
 public:
  virtual ~StageModule() = default;
  /// submod.parameters().
  virtual std::vector<ghost::Tensor> parameters() const = 0;
  virtual ghost::Tensor forward(const ghost::Tensor& input) = 0;

  virtual void begin_backward() {}
  virtual void unshard() {}
  virtual void wait_for_unshard() {}
  virtual void reshard() {}
  virtual void reduce_gradients() {}
};

/// Consecutive layers of a family's model.
class LayersOfModel final : public StageModule {
 public:
  LayersOfModel(family::StageParts& model, const family::StageRange& range)
      : model_(model), range_(range) {}
  std::vector<ghost::Tensor> parameters() const override {
    std::vector<ghost::Tensor> found;
    for (const nn::ModuleNode* module : model_.modules(range_))
      for (ghost::Tensor& parameter : nn::parameters(*module))
        found.push_back(std::move(parameter));
    return found;
  }
  ghost::Tensor forward(const ghost::Tensor& input) override {
    return model_.forward(range_, input);
  }

 private:
  family::StageParts& model_;
  family::StageRange range_;
};

}  // namespace memtape::torch_pp
