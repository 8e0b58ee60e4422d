// SPDX-License-Identifier: Apache-2.0
// ProgramOverShards: a program that computes its loss itself and may have applied fully_shard to
// its model. If it has, what the loop asks of the model is asked of the shards.
#pragma once

#include <memory>

#include "framework/fsdp2/fully_shard.h"

namespace memtape::fsdp2 {

class ProgramOverShards : public torch::DrivenModel {
 public:
  using DrivenModel::DrivenModel;

  std::vector<ghost::Tensor> parameters() override {
    return sharded_ ? sharded_->parameters() : DrivenModel::parameters();
  }
  ghost::Tensor loss_of(const family::Batch& batch) override {
    if (sharded_) return sharded_->loss_of(batch);
    return loss_by([this](const family::Batch& b) { return model_.forward(b); }, batch);
  }
  void set_gradient_sync(bool sync) override {
    if (sharded_) sharded_->set_gradient_sync(sync);
  }
  ghost::Tensor clip_grad_norm(const std::vector<ghost::Tensor>& parameters) override {
    return sharded_ ? sharded_->clip_grad_norm(parameters)
                    : DrivenModel::clip_grad_norm(parameters);
  }
  bool updates_on_host() const override { return sharded_ && sharded_->updates_on_host(); }

 protected:
  virtual ghost::Tensor loss_by(const Forward& forward, const family::Batch& batch) = 0;

  void shard(const Options& options, std::int64_t rank) {
    sharded_ = shard_model(model_, options, rank,
                           [this](const Forward& forward, const family::Batch& batch) {
                             return loss_by(forward, batch);
                           });
  }

  std::unique_ptr<ShardedProgram> sharded_;
};

}  // namespace memtape::fsdp2
