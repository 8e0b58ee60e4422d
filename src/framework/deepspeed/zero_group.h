// SPDX-License-Identifier: Apache-2.0
// ZeroGroup: one of the optimizer's groups of parameters in ZeRO 1 and 2 (bit16_groups of
// deepspeed/runtime/zero/stage_1_and_2.py). Each group has its own flat buffer, which is padded and
// partitioned separately, and master weights of this rank's partition of it.
#pragma once

#include <optional>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/flat_layout.h"

namespace memtape::deepspeed {

class ZeroGroup {
 public:
  /// `parameters` are in the order of the flat buffer. `first` is the number of the first one among
  /// the parameters of all groups; the functions below take such numbers.
  ZeroGroup(std::vector<Tensor> parameters, std::size_t first, const DsConfig& config, Rank rank);

  bool holds(std::size_t parameter) const {
    return parameter >= first_ && parameter < first_ + parameters_.size();
  }
  std::vector<Piece> pieces(std::size_t parameter) const {
    return layout_.pieces(parameter - first_);
  }
  /// The piece of a parameter that this rank's partition holds.
  std::optional<Piece> piece(std::size_t parameter) const {
    return layout_.piece(parameter - first_, rank_.index);
  }
  std::int64_t partition_size() const { return layout_.partition_size(); }
  /// The elements of the whole parameters of which this rank has a piece.
  std::int64_t elements_in_partition() const;

  Tensor& master() { return master_; }
  const Tensor& master() const { return master_; }

  /// _get_compact_grad_partition_slice: the first gradient of a step makes the buffer.
  Tensor compact_slice(const Piece& piece);
  /// Takes the gradients of one micro-batch. `boundary` marks the last one before a step.
  template <class GradientOf>
  void accumulate(GradientOf&& gradient_of, bool boundary) {
    std::vector<Tensor> gradients;
    for (std::size_t i : in_partition_) gradients.push_back(gradient_of(i));
    if (!holds_all_grads_) all_grads_ = std::move(gradients);
    holds_all_grads_ = true;
    if (!boundary) return;
    averaged_ = flat_partition();
    all_grads_.clear();
    holds_all_grads_ = false;
  }

  /// averaged_gradients: the gradients of the step, without the zeros between them.
  std::vector<Tensor> averaged() const;
  std::vector<Tensor> normed() const;
  /// Makes the gradient of the master weights, which replaces the averaged gradients.
  void take_gradient();
  void drop_averaged();

 private:
  /// The buffer of all parameters, which become pieces of it.
  Tensor flattened() const;
  void make_master();
  std::vector<Tensor> flat_partition() const;

  std::vector<Tensor> parameters_;
  std::size_t first_;
  const DsConfig& config_;
  Rank rank_;
  FlatLayout layout_;
  std::vector<std::size_t> in_partition_;  ///< the parameters of which this rank has a piece
  Tensor flat_, master_;
  bool holds_all_grads_ = false;
  std::vector<Tensor> all_grads_;  ///< all_grad_tensors
  std::vector<Tensor> averaged_;
  Tensor averaged_flat_;  ///< for a compact buffer, its partition in float32
};

}  // namespace memtape::deepspeed
