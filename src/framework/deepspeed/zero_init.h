// SPDX-License-Identifier: Apache-2.0
// ZeroInit: deepspeed.zero.Init (deepspeed/runtime/zero/partition_parameters.py): the parameters of
// ZeRO 3, partitioned in the order in which they come. If it is in force while a model is made, it
// converts parameters to the engine's dtype one by one and partitions each module's own parameters
// right after the module's __init__, so that no more than one module is whole at a time.
#pragma once

#include <deque>
#include <unordered_map>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/zero_param.h"
#include "nn/module_init.h"

namespace memtape::deepspeed {

using ghost::Dims;

class ZeroInit final : public nn::ModuleInit {
 public:
  ZeroInit(const DsConfig& config, std::int64_t world_size)
      : world_size_(world_size),
        dtype_(config.model_dtype),
        partitions_on_host_(config.zero.offload_param),
        hpz_partition_size_(config.zero.hpz_partition_size) {}

  Tensor empty(const Dims& sizes, DType dtype) override;

  /// The partitioned form of a parameter, which is partitioned now if it has not been before.
  ZeroParam& cut(const Tensor& parameter);
  /// Drops the parameters that the model has replaced by others.
  void keep_only(const std::vector<Tensor>& parameters);

  std::deque<ZeroParam>& params() { return params_; }
  const std::deque<ZeroParam>& params() const { return params_; }

 protected:
  void after_init(nn::ModuleNode& module) override;

 private:
  std::int64_t world_size_;
  DType dtype_;
  bool partitions_on_host_;
  std::int64_t hpz_partition_size_;
  std::size_t made_ = 0;
  std::deque<ZeroParam> params_;
  std::unordered_map<const ghost::TensorImpl*, ZeroParam*> by_tensor_;
};

}  // namespace memtape::deepspeed
