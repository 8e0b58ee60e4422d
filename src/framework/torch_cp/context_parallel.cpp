// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/context_parallel.h"

#include <memory>
#include <utility>

#include "family/parts/forward_arguments.h"
#include "framework/fsdp2/program_over_shards.h"
#include "framework/torch_cp/context.h"
#include "framework/torch_cp/options.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/loss.h"
#include "ghost/session.h"

namespace memtape::torch_cp {
namespace {

using ghost::Tensor;

class ContextParallelModel final : public fsdp2::ProgramOverShards {
 public:
  ContextParallelModel(family::PretrainedModel& model, const Options& options, const Ring& ring)
      : ProgramOverShards(model), context_(ring) {
    if (options.fsdp2) shard(*options.fsdp2, ring.rank);
  }

  torch::StaticBytes statics() override {
    return sharded_ ? sharded_->statics() : DrivenModel::statics();
  }

 private:
  Tensor loss_by(const fsdp2::Forward& forward, const family::Batch& batch) override {
    family::Batch piece;
    piece.input_ids = batch.input_ids;
    Tensor labels = batch.labels.clone();
    Tensor positions = ghost::arange(batch.input_ids.size(1), DType::int64).unsqueeze(0);
    context_.enter({{&piece.input_ids}, {&labels}, {&positions}});
    const family::ForwardArguments arguments(nullptr, positions, 0,
                                             family::ForwardArguments::Stage::prefill);
    const Tensor logits = forward(piece).logits;
    Tensor scores = logits.view({-1, logits.size(-1)}).to_float();
    Tensor loss = ghost::cross_entropy(std::move(scores), labels.view({-1}));
    context_.leave_after_backward(loss);
    return loss;
  }

  Context context_;
};

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank) {
  const Ring ring{recipe.layout.gpus, rank, options.rotate};
  const auto wrap = [&](family::PretrainedModel& model) -> std::unique_ptr<torch::DrivenModel> {
    return std::make_unique<ContextParallelModel>(model, options, ring);
  };
  return torch::run_wrapped(config, recipe, device, wrap);
}

std::vector<torch::RankClass> rank_classes(std::int64_t gpus) {
  std::vector<torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < gpus; ++rank)
    classes.push_back({.ranks = {static_cast<int>(rank)}});
  return classes;
}

}  // namespace memtape::torch_cp
