// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/context_parallel.h"

#include <memory>
#include <optional>
#include <utility>

#include "family/forward_arguments.h"
#include "framework/fsdp2/fully_shard.h"
#include "framework/torch_cp/options.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::torch_cp {
namespace {

using ghost::Dims;
using ghost::Op;
using ghost::Tensor;

class ContextParallelModel final : public torch::DrivenModel {
 public:
  ContextParallelModel(family::PretrainedModel& model, const Options& options, const Ring& ring)
      : DrivenModel(model), ring_(ring) {
    if (options.fsdp2)
      sharded_ =
          fsdp2::shard_model(model, *options.fsdp2, ring.rank,
                             [this](const fsdp2::Forward& forward, const family::Batch& batch) {
                               return loss_by(forward, batch);
                             });
  }

  std::vector<Tensor> parameters() override {
    return sharded_ ? sharded_->parameters() : DrivenModel::parameters();
  }
  Tensor loss_of(const family::Batch& batch) override {
    if (sharded_) return sharded_->loss_of(batch);
    return loss_by([this](const family::Batch& b) { return model_.forward(b); }, batch);
  }
  void set_gradient_sync(bool sync) override {
    if (sharded_) sharded_->set_gradient_sync(sync);
  }
  bool updates_on_host() const override { return sharded_ && sharded_->updates_on_host(); }
  torch::StaticBytes statics() override {
    return sharded_ ? sharded_->statics() : DrivenModel::statics();
  }

 private:
  Tensor loss_by(const fsdp2::Forward& forward, const family::Batch& batch) {
    family::Batch piece;
    piece.input_ids = batch.input_ids;
    Tensor labels = batch.labels.clone();
    Tensor positions = ghost::arange(batch.input_ids.size(1), DType::int64).unsqueeze(0);
    enter({&piece.input_ids, &labels, &positions});
    attention_.emplace(ring_);
    const family::ForwardArguments arguments(nullptr, positions, 0,
                                             family::ForwardArguments::Stage::prefill);
    const Tensor logits = forward(piece).logits;
    Tensor scores = logits.view({-1, logits.size(-1)}).to_float();
    Tensor loss = ghost::cross_entropy(std::move(scores), labels.view({-1}));
    leave_after_backward(loss);
    return loss;
  }

  /// The buffers in the balanced order, cut, and copied back into their own storage, which stays as
  /// large as it was (resize_ to less). The generator's frame holds buffers, shards and the last
  /// copy until the context is left.
  void enter(std::initializer_list<Tensor*> buffers) {
    const ghost::GradMode no_grad(false);
    {
      const Op op("gather", {});
      const std::int64_t tokens = (*buffers.begin())->size(1);
      const Tensor indices = ghost::empty({tokens}, DType::int32);
      for (const Tensor* buffer : buffers) {
        const Tensor rearranged = ghost::empty(buffer->sizes(), buffer->dtype());
        held_.push_back(ghost::empty(cut(buffer->sizes()), buffer->dtype()));
      }
    }
    Tensor shard;
    for (Tensor* buffer : buffers) {
      shard.reset();
      const Op op("clone", {});
      shard = ghost::empty(cut(buffer->sizes()), buffer->dtype());
      held_.push_back(*buffer);
      *buffer = ghost::alias(*buffer, shard.sizes(), shard.strides());
    }
    held_.push_back(shard);
  }

  Dims cut(Dims sizes) const {
    sizes[1] /= ring_.size;
    return sizes;
  }

  /// Once the backward pass has ended, fully_shard's last reduction included.
  void leave_after_backward(const Tensor& loss) {
    const auto leave = [this] {
      attention_.reset();
      held_.clear();
    };
    if (!loss.impl().grad_fn) return leave();  // the run has failed
    loss.impl().grad_fn->add_hooks().before.push_back([leave](ghost::Gradients&) {
      auto* const callbacks = ghost::session().final_callbacks;
      callbacks->push_back([callbacks, leave] { callbacks->push_back(leave); });
    });
  }

  Ring ring_;
  std::unique_ptr<torch::DrivenModel> sharded_;
  std::optional<RingAttention> attention_;  ///< what is computed again in backward goes round, too
  std::vector<Tensor> held_;
};

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const ghost::DeviceTraits& device, int rank) {
  const Result<Options> options = read_options(recipe);
  if (!options) return tl::unexpected(options.error());
  const Ring ring{recipe.layout.gpus, rank, options->rotate};
  const auto wrap = [&](family::PretrainedModel& model) -> std::unique_ptr<torch::DrivenModel> {
    return std::make_unique<ContextParallelModel>(model, *options, ring);
  };
  return torch::run_wrapped(config, recipe, device, wrap);
}

Result<std::vector<torch::RankClass>> rank_classes(const Config&, const TrainRecipe& recipe) {
  const Result<Options> options = read_options(recipe);
  if (!options) return tl::unexpected(options.error());
  std::vector<torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < recipe.layout.gpus; ++rank)
    classes.push_back({.ranks = {static_cast<int>(rank)}});
  return classes;
}

}  // namespace memtape::torch_cp
