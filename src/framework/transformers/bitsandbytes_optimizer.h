// SPDX-License-Identifier: Apache-2.0
// bitsandbytes' optimizers (0.50, optim/optimizer.py, lion.py, ademamix.py) as Trainer makes them.
// Their states are bytes with a float32 maximum for every 256 of them, or float32 numbers. Paged
// optimizers keep states of 100,000 elements or more in managed memory, which torch does not count.
#pragma once

#include <unordered_set>

#include "framework/torch/optimizer.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers {

using ghost::Tensor;

class BitsAndBytesOptimizer : public torch::Optimizer {
 public:
  /// `in_32_bit` are parameters that GlobalOptimManager overrides, which are Trainer's embeddings.
  BitsAndBytesOptimizer(torch::TensorList parameters, const BitsAndBytesOptim& optim,
                        std::unordered_set<const ghost::TensorImpl*> in_32_bit);

  /// The bytes of the states in managed memory.
  Bytes managed_bytes() const { return managed_bytes_; }
  /// The bytes of all states, with the quantization maps that all 8-bit states share.
  Bytes state_bytes() const override;

 protected:
  void step_over(const torch::Places& places) override;
  bool one_pass_over_groups() const override { return true; }
  std::vector<const torch::TensorList*> states() const override {
    return {&state1_, &state2_, &absmax1_, &absmax2_};
  }

  bool is_initialized(std::size_t place) const { return initialized_[place]; }
  bool is_in_bytes(std::size_t place) const { return absmax1_[place].defined(); }
  void init_state(std::size_t place);

 private:
  void move_maps();
  void init_maxima(std::size_t place);
  void init_buffers(std::size_t place, DType dtype);
  Tensor buffer(const ghost::Dims& sizes, DType dtype, bool paged);

  BitsAndBytesOptim optim_;
  std::unordered_set<const ghost::TensorImpl*> in_32_bit_;
  std::vector<bool> initialized_;
  torch::TensorList state1_, state2_, absmax1_, absmax2_;
  Tensor dynamic_, udynamic_;  ///< name2qmap
  Bytes managed_bytes_ = 0;
};

}  // namespace memtape::transformers
