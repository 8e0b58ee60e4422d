// SPDX-License-Identifier: Apache-2.0
// FlatHandle: the flat parameter of one unit of FSDP1 (FlatParamHandle of _flat_param.py). The
// parameters of the unit lie side by side in one tensor, which is padded so that every rank holds
// an equal piece. While the unit computes, they are views of the whole flat tensor, and autograd
// makes one flat gradient of their gradients.
//
// Like FlatParameter, it is one leaf tensor whose data switches between the rank's shard, a copy of
// the shard in the low dtype, and the whole.
#pragma once

#include <optional>
#include <vector>

#include "framework/fsdp1/flat_layout.h"
#include "framework/fsdp1/options.h"
#include "ghost/autograd/node.h"
#include "ghost/tensor.h"

namespace memtape::fsdp1 {

using ghost::Dims;
using ghost::Tensor;

enum class TrainingState { idle, forward, backward_pre, backward_post };

class FlatHandle {
 public:
  FlatHandle(const std::vector<Tensor>& parameters, std::int64_t rank, const Options& options);
  FlatHandle(const FlatHandle&) = delete;
  FlatHandle& operator=(const FlatHandle&) = delete;

  /// init_flat_param_attributes, which runs in the first forward.
  void init_attributes();

  /// Runs on its own stream: makes the shard that is gathered, in its dtype and on its device.
  void pre_unshard();
  void unshard();
  void post_unshard();
  void reshard(bool free_unsharded);
  bool needs_unshard() const;
  /// Whether the data is the shard, as it is between steps.
  bool is_local() const { return is_local_; }

  /// An original parameter as the optimizer sees it with use_orig_params: a piece of the shard.
  struct OrigParam {
    Tensor parameter;  ///< the parameter of the module
    Tensor piece;
    std::int64_t offset = 0;  ///< its offset in the shard
  };
  std::vector<OrigParam> orig_params;
  /// Makes the gradients of the pieces views of `grad`, the shard's gradient. If it is undefined,
  /// they have none.
  void use_sharded_grad_views(const Tensor& grad);
  /// For no_sync: the gradients are views of the whole gradient, and making them takes memory for a
  /// moment the first time.
  void use_unsharded_grad_views();
  /// Drops the flat gradient if no original parameter has a gradient.
  void reset_grad_if_unused();

  void prepare_gradient_for_backward();
  void prepare_gradient_for_optim();

  std::int64_t local_numel() const { return local_numel_; }
  bool casts() const { return param_dtype_ != orig_dtype_; }
  DType orig_dtype() const { return orig_dtype_; }
  DType reduce_dtype() const { return reduce_dtype_; }
  /// The bytes of the parameters themselves in this rank's shard, without padding.
  Bytes held_bytes() const;
  /// FSDP.summon_full_params: gathers the whole in its own dtype, and later goes back.
  void summon();
  void end_summon();
  /// prepare_model of accelerate under mixed precision: the parameters that are trained become
  /// float32.
  void upcast();

  /// The gradient that the reduction gave, or its copy on the host.
  const Tensor& sharded_grad() const { return cpu_grad.defined() ? cpu_grad : saved_grad_shard; }

  Tensor flat;
  Tensor saved_grad_shard, cpu_grad;
  TrainingState state = TrainingState::idle;
  ghost::Ptr<ghost::Node> accumulator;  ///< that of `flat`, from its forward to the backward's end
  bool shares_parameters = false;       ///< one of them is a parameter of two modules
  bool prefetched = false, needs_pre_forward_unshard = false, needs_pre_backward_unshard = false;
  bool ran_pre_backward = false, post_backward_called = false;
  bool reshards_with_input = false;  ///< for a unit that is not trained: its hook is registered
  Tensor leaf_input;                 ///< the tensor on which it is registered, if that is a leaf
  ghost::Ptr<ghost::Node> leaf_accumulator;
  std::optional<std::size_t> pre_forward_index, post_forward_index;

 private:
  void flatten(const std::vector<Tensor>& parameters);
  void make_orig_params(const std::vector<Tensor>& parameters);
  void use_unsharded_views();
  /// Sets the dtype that a program sees in the parameters while no unit uses them;
  /// _use_sharded_views gives them the dtype of the shards.
  void show_dtype(DType dtype);
  bool holds_orig_params() const;
  bool skips_sharded_views() const;
  void set_data(const Tensor& source, const Dims& sizes);

  const Options options_;
  std::int64_t shards_, index_;
  DType orig_dtype_, param_dtype_, reduce_dtype_;
  std::vector<Tensor> parameters_;
  FlatLayout layout_;
  std::int64_t local_numel_ = 0;
  Tensor local_shard_, mp_shard_, full_padded_;
  Tensor full_precision_padded_;  ///< _full_prec_full_param_padded, if units cast
  /// With use_orig_params, the program's parameters are views of the shard that was brought to the
  /// device, or of the one from before upcast(), until they see the shard again
  /// (_use_sharded_views).
  Tensor seen_by_orig_params_;
  bool is_local_ = true;
};

}  // namespace memtape::fsdp1
