// SPDX-License-Identifier: Apache-2.0
// A model as parallelize_fn leaves it (models/llama3/infra/parallelize.py): with tensor
// parallelism, compiled blocks and then fully_shard. On several GPUs without shards it has the
// composable replicate() instead, which makes its DistributedDataParallel at the first forward.
#pragma once

#include <memory>

#include "framework/fsdp2/program_over_shards.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer_in_backward.h"
#include "framework/torch_cp/context.h"
#include "framework/torch_tp/distributed_modules.h"
#include "framework/torchtitan/job_config.h"
#include "framework/torchtitan/model.h"

namespace memtape::torchtitan {

class ModelPart final : public fsdp2::ProgramOverShards {
 public:
  /// The model is on the meta device, where nothing takes memory.
  ModelPart(Transformer& model, const JobConfig& job, std::int64_t rank);

  /// model.to_empty(device="cuda"); model.init_weights()
  void materialize();

  std::unique_ptr<torch::Optimizer> make_optimizer(const TrainRecipe& recipe) override;
  void set_up(torch::Optimizer& optimizer) override;
  /// The gradients of every micro-batch are reduced, because the trainer has no no_sync.
  void set_gradient_sync(bool) override {}
  torch::StaticBytes statics() override;

  /// Runs the part of a model that is a pipeline's stage.
  Tensor run(const Tensor& input);
  /// What context parallelism divides besides the inputs of a part.
  torch_cp::ContextBuffer rotations() const {
    return {.tensor = &transformer_.freqs_cis, .dim = 0, .restored = true};
  }
  fsdp2::ShardedProgram* shards() const { return sharded_.get(); }
  const nn::ModuleNode& module() const { return model_.tree.root(); }

 private:
  void shard_pieces(std::int64_t rank);
  void tie_weights();
  /// forward_backward_step, which drops the logits before backward.
  Tensor loss_by(const fsdp2::Forward& forward, const family::Batch& batch) override;
  Tensor logits_of(const fsdp2::Forward& forward, const family::Batch& inputs);

  Transformer& transformer_;
  const JobConfig& job_;
  torch::StaticBytes whole_;
  torch_tp::DistributedModules modules_;
  bool rescales_loss_;  ///< RescaleAccumulatedLoss; if gradients are accumulated, the loop divides
  torch_cp::Context context_;
  std::unique_ptr<torch::DrivenModel> replica_;
  torch::OptimizerInBackward* stepping_ = nullptr;  ///< early_step_in_backward
  Tensor kept_pred_;
};

}  // namespace memtape::torchtitan
