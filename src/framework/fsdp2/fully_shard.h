// SPDX-License-Identifier: Apache-2.0
// FSDP2, torch.distributed.fsdp.fully_shard: every layer of the model a unit, the rest of the model
// the root unit, as torch's tutorials and trainers apply it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "framework/fsdp2/options.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::fsdp2 {

/// How a program gets its loss: `forward` is the wrapped model's.
using Forward = torch::DrivenModel::Forward;
using LossProgram = std::function<ghost::Tensor(const Forward& forward, const family::Batch&)>;

/// A model whose parameters are shards.
class ShardedProgram : public torch::DrivenModel {
 public:
  using DrivenModel::DrivenModel;
  /// model.to_empty(device="cuda"), where the model was made on the meta device: without memory.
  virtual void to_empty() = 0;
  /// model.b = model.a behind fully_shard: two units each gather and reduce what is one shard.
  virtual void share_shard(const ghost::Tensor& a, const ghost::Tensor& b) = 0;

  // What a pipeline does with a stage that is sharded (FSDPModule's methods over all modules).
  /// unshard(async_op=True): every unit's gather begins, on the stream that computes.
  virtual void unshard() = 0;
  virtual void wait_for_unshard() = 0;
  virtual void reshard() = 0;
  /// post_backward of every unit and the callback that ends a backward pass, in which gradients
  /// that were kept whole are reduced (_PipelineStageBase.perform_reduce_grad).
  virtual void reduce_gradients() = 0;
};

/// fully_shard on every layer and the model, as a program whose loss is the model's own does it.
std::unique_ptr<ShardedProgram> shard_model(family::PretrainedModel& model, const Options& options,
                                            std::int64_t rank);
/// The same for a program that makes its loss itself.
std::unique_ptr<ShardedProgram> shard_model(family::PretrainedModel& model, const Options& options,
                                            std::int64_t rank, LossProgram loss);

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank);

/// Ranks whose shards have equal sizes.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options);
/// Of parameters with so many rows each.
std::vector<torch::RankClass> rank_classes(std::vector<std::int64_t> rows, std::int64_t gpus,
                                           const Options& options);

}  // namespace memtape::fsdp2
