// SPDX-License-Identifier: Apache-2.0
// ZeroGroup: one of the optimizer's groups of parameters in ZeRO 1 and 2 (bit16_groups of
// deepspeed/runtime/zero/stage_1_and_2.py). Each lies in a flat buffer of its own, padded and cut
// on its own, and has master weights of this rank's partition of it.
#pragma once

#include <optional>
#include <vector>

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine_optimizer.h"
#include "framework/deepspeed/flat_layout.h"

namespace memtape::deepspeed {

class ZeroGroup {
 public:
  /// In the order of the flat buffer; `first` is the number of the first among all groups' ones, by
  /// which the others are asked for.
  ZeroGroup(std::vector<Tensor> parameters, std::size_t first, const DsConfig& config, Rank rank);

  bool holds(std::size_t parameter) const {
    return parameter >= first_ && parameter < first_ + parameters_.size();
  }
  std::vector<Piece> pieces(std::size_t parameter) const {
    return layout_.pieces(parameter - first_);
  }
  /// What this rank's partition has of a parameter.
  std::optional<Piece> piece(std::size_t parameter) const {
    return layout_.piece(parameter - first_, rank_.index);
  }
  std::int64_t partition_size() const { return layout_.partition_size(); }
  /// Of parameters of which this rank has a piece, the number of elements, whole.
  std::int64_t elements_in_partition() const;

  Tensor& master() { return master_; }
  const Tensor& master() const { return master_; }

  /// _get_compact_grad_partition_slice: the buffer is made by the first gradient of a step.
  Tensor compact_slice(const Piece& piece);
  /// What is there of a step's gradients, of one micro-batch after the other.
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

  /// averaged_gradients: the gradients of the step; without the zeros between them.
  std::vector<Tensor> averaged() const;
  std::vector<Tensor> normed() const;
  /// The master weights' gradient, in the place of those.
  void take_gradient();
  void drop_averaged();

 private:
  void make_master();
  std::vector<Tensor> flat_partition() const;

  std::vector<Tensor> parameters_;
  std::size_t first_;
  const DsConfig& config_;
  Rank rank_;
  FlatLayout layout_;
  std::vector<std::size_t> in_partition_;  ///< parameters of which this rank has a piece
  Tensor flat_, master_;
  bool holds_all_grads_ = false;
  std::vector<Tensor> all_grads_;  ///< all_grad_tensors
  std::vector<Tensor> averaged_;
  Tensor averaged_flat_;  ///< of a compact buffer: its float32 partition
};

}  // namespace memtape::deepspeed
