// SPDX-License-Identifier: Apache-2.0
// FSDP2, torch.distributed.fsdp.fully_shard: every layer of the model is a unit and the rest of the
// model is the root unit, as torch's tutorials and trainers apply it.
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

/// How a program gets its loss. `forward` is the wrapped model's own.
using Forward = torch::DrivenModel::Forward;
using LossProgram = std::function<ghost::Tensor(const Forward& forward, const family::Batch&)>;

/// A model whose parameters are shards.
class ShardedProgram : public torch::DrivenModel {
 public:
  using DrivenModel::DrivenModel;
  /// model.to_empty(device="cuda"), if the model was made on the meta device, without memory.
  virtual void to_empty() = 0;
  /// model.b = model.a after fully_shard: the two units gather and reduce separately what is one
  /// shard.
  virtual void share_shard(const ghost::Tensor& a, const ghost::Tensor& b) = 0;

  // These are what a pipeline does with a sharded stage: FSDPModule's methods, applied to all
  // modules.
  /// unshard(async_op=True): the gather of every unit begins, on the stream that computes.
  virtual void unshard() = 0;
  virtual void wait_for_unshard() = 0;
  virtual void reshard() = 0;
  /// post_backward of every unit and the callback at the end of a backward pass, which reduces
  /// gradients that were kept whole (_PipelineStageBase.perform_reduce_grad).
  virtual void reduce_gradients() = 0;
};

/// Applies fully_shard to every layer and to the model, for a program whose loss is the model's
/// own.
std::unique_ptr<ShardedProgram> shard_model(family::PretrainedModel& model, const Options& options,
                                            std::int64_t rank);
/// The same for a program that computes its loss itself.
std::unique_ptr<ShardedProgram> shard_model(family::PretrainedModel& model, const Options& options,
                                            std::int64_t rank, LossProgram loss);

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank);

/// The classes of ranks whose shards have equal sizes.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options);
/// The same for parameters with these numbers of rows.
std::vector<torch::RankClass> rank_classes(std::vector<std::int64_t> rows, std::int64_t gpus,
                                           const Options& options);

}  // namespace memtape::fsdp2
