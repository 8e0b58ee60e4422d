// SPDX-License-Identifier: Apache-2.0
// FlatHandle: the flat parameter of one unit of FSDP1 (FlatParamHandle of _flat_param.py). The
// unit's parameters lie side by side in one tensor, padded so that every rank holds an equal piece;
// while the unit computes they are views of the whole flat tensor, and autograd makes their
// gradients one flat gradient.
//
// The FlatParameter is one leaf tensor whose data is switched between the rank's shard, its copy in
// the low dtype and the whole: here, too.
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

  /// init_flat_param_attributes, in the first forward.
  void init_attributes();

  /// On the stream for it: the shard in the dtype, and on the device, that is gathered.
  void pre_unshard();
  void unshard();
  void post_unshard();
  void reshard(bool free_unsharded);
  bool needs_unshard() const;
  /// Whether the data is the shard, as between steps.
  bool is_local() const { return is_local_; }

  /// Original parameters as the optimizer sees them with use_orig_params: pieces of the shard.
  struct OrigParam {
    Tensor parameter;  ///< the module's
    Tensor piece;
    std::int64_t offset = 0;  ///< within the shard
  };
  std::vector<OrigParam> orig_params;
  /// Their gradients become views of `grad`, the shard's; undefined: they have none.
  void use_sharded_grad_views(const Tensor& grad);
  /// no_sync: views of the whole gradient, which take a moment's memory the first time.
  void use_unsharded_grad_views();
  /// The flat gradient goes once no original parameter has one.
  void reset_grad_if_unused();

  void prepare_gradient_for_backward();
  void prepare_gradient_for_optim();

  std::int64_t local_numel() const { return local_numel_; }
  bool casts() const { return param_dtype_ != orig_dtype_; }
  DType orig_dtype() const { return orig_dtype_; }
  DType reduce_dtype() const { return reduce_dtype_; }
  /// Parameters' own bytes in this rank's shard, without padding.
  Bytes held_bytes() const;
  /// FSDP.summon_full_params: whole in its own dtype, and back.
  void summon();
  void end_summon();
  /// accelerate's prepare_model under mixed precision: what is trained becomes float32.
  void upcast();

  /// Of the reduction, or its copy on the host.
  const Tensor& sharded_grad() const { return cpu_grad.defined() ? cpu_grad : saved_grad_shard; }

  Tensor flat;
  Tensor saved_grad_shard, cpu_grad;
  TrainingState state = TrainingState::idle;
  ghost::Ptr<ghost::Node> accumulator;  ///< of `flat`, from its forward to the backward's end
  bool shares_parameters = false;       ///< one of them is the parameter of two modules
  bool prefetched = false, needs_pre_forward_unshard = false, needs_pre_backward_unshard = false;
  bool ran_pre_backward = false, post_backward_called = false;
  bool reshards_with_input = false;  ///< of a unit that is not trained: its hook is registered
  Tensor leaf_input;                 ///< on which it is registered, where that is a leaf
  ghost::Ptr<ghost::Node> leaf_accumulator;
  std::optional<std::size_t> pre_forward_index, post_forward_index;

 private:
  void flatten(const std::vector<Tensor>& parameters);
  void make_orig_params(const std::vector<Tensor>& parameters);
  void use_unsharded_views();
  /// What a program sees of its parameters between units' uses: _use_sharded_views gives them the
  /// dtype of the shards.
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
  Tensor full_precision_padded_;  ///< _full_prec_full_param_padded, where units cast
  /// With use_orig_params the program's parameters are views of the shard that was brought to the
  /// device, or of the one before upcast(), until they see the shard again (_use_sharded_views).
  Tensor seen_by_orig_params_;
  bool is_local_ = true;
};

}  // namespace memtape::fsdp1
