// SPDX-License-Identifier: Apache-2.0
// ModelGraph: torch.compile(model) makes one graph of the model's whole forward with its loss, and
// AOTAutograd derives the backward from it. Here the graph comes from a traced pass of the model on
// ghost tensors, and its backward from the autograd graph of that pass.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "framework/torch/inductor/graph.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch::inductor {

struct ModelGraph {
  Graph graph;
  ValueId loss = 0;
  std::optional<ValueId> logits;
  std::optional<ValueId> hidden;  ///< it is returned, too, if the graph ends before the loss
  ValueId grad_loss = 0;
  /// Zeros, which are held until the backward is done.
  std::optional<ValueId> grad_logits, grad_hidden;
  std::vector<std::optional<ValueId>> gradients;  ///< for each trainable parameter
  std::vector<ValueId> saved;                     ///< what the forward makes for the backward
  std::vector<DType> constants;  ///< numbers that the graph keeps on the device (lift_fresh)
};

/// The graph for the recipe's model and batch.
Result<std::shared_ptr<const ModelGraph>> trace_model(const Config& config,
                                                      const TrainRecipe& recipe,
                                                      const ghost::DeviceTraits& device);

/// The model, run through its graph.
class CompiledModel final : public DrivenModel {
 public:
  CompiledModel(family::PretrainedModel& model, std::shared_ptr<const ModelGraph> graph)
      : DrivenModel(model), graph_(std::move(graph)) {}
  Tensor loss_of(const family::Batch& batch) override;

 private:
  std::shared_ptr<const ModelGraph> graph_;
  std::vector<Tensor> constants_;
};

}  // namespace memtape::torch::inductor
