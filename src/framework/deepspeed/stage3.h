// SPDX-License-Identifier: Apache-2.0
// ZeRO 3 (deepspeed/runtime/zero/stage3.py): parameters, gradients and optimizer states are all
// partitioned. ParameterOffload gathers parameters module by module. Gradients go through a bucket,
// which lives as long as the program, into one flat buffer of this rank's partitions.
#pragma once

#include <memory>
#include <vector>

#include "family/pretrained.h"
#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/parameter_offload.h"
#include "nn/activation_hooks.h"

namespace memtape::deepspeed {

class Stage3 final : public EngineOptimizer {
 public:
  Stage3(family::PretrainedModel& model, const DsConfig& config, const TrainRecipe& recipe,
         Rank rank, const std::vector<Tensor>& second_group);

  void before_forward() override;
  void before_module() override { offload_.before_module(); }
  void after_module(const std::vector<Tensor*>& outputs) override {
    offload_.after_module(outputs);
  }
  Tensor scale_if_loss(const Tensor& loss) override { return loss.mul(ghost::kScale); }
  void backward_prologue(bool boundary) override { boundary_ = boundary; }
  void backward_epilogue(bool boundary) override;
  void step() override;
  void zero_grad() override;

  torch::Optimizer& basic() override { return *optimizer_; }
  Bytes master_bytes() const override;
  Bytes gradient_bytes() const override { return grad_partitions_.nbytes(); }
  std::optional<Bytes> parameter_bytes() const override;
  std::shared_ptr<void> gathered(const std::vector<Tensor>& parameters) override {
    return offload_.gathered(parameters);
  }
  std::shared_ptr<void> unwrapped() override { return offload_.unwrapped(); }

 private:
  /// Parameters for which one step is made together.
  struct SubGroup {
    std::vector<ZeroParam*> params;
    std::int64_t numel = 0;
    Tensor flat, master;
  };

  void order_by_group(const std::vector<Tensor>& second_group);
  void barrier();
  void create_partitions();
  void create_masters();
  void setup_buffers();
  void create_gradient_hooks();

  void reduce_gradient(ZeroParam& param);
  void add_to_bucket(ZeroParam& param);
  void reduce_and_partition();
  std::vector<Tensor> scatter_gradients(const std::vector<ZeroParam*>& params);
  std::vector<Tensor> scatter_contiguous(const std::vector<ZeroParam*>& params);
  void partition_gradient(ZeroParam& param, const Tensor& partition);
  std::int64_t own_elements(const ZeroParam& param) const;

  void check_overflow() const;
  Tensor norm_of(const SubGroup& group) const;
  Tensor norm_on_host() const;
  void step_sub_group(SubGroup& group, const Tensor& norm);
  void gather_persistent();

  DsConfig config_;
  Rank rank_;
  ParameterOffload offload_;
  nn::ActivationHooks activations_;
  DType dtype_ = DType::float32;
  std::vector<ZeroParam*> trained_;
  /// The number of trained parameters in the optimizer's first group.
  std::size_t first_group_ = 0;
  StreamId reduce_stream_ = 0;

  std::vector<SubGroup> sub_groups_;
  std::unique_ptr<torch::Optimizer> optimizer_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;
  Tensor barrier_, inf_or_nan_tracker_;
  Tensor partitions_;       ///< lp_param_buffer
  Tensor bucket_buffer_;    ///< that of the ipg bucket
  Tensor grad_partitions_;  ///< grad_partitions_flat_buffer
  std::vector<ZeroParam*> bucket_;
  std::int64_t bucket_elements_ = 0;
  std::vector<Tensor> norms_;  ///< norm_for_param_grads, for offloaded gradients
  std::int64_t micro_step_ = 0;
  bool boundary_ = true, epilogue_ran_ = false;
};

}  // namespace memtape::deepspeed
