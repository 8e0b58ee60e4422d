// SPDX-License-Identifier: Apache-2.0
// FsdpParam: one parameter of fully_shard (_fsdp_param.py). Its shard is rows of dimension 0
// (or another that all ranks share evenly), padded to those of the first rank; gathered, it is
// whole in a tensor whose storage is emptied when the unit is resharded and filled again at the
// next gather.
//
// The module keeps its own TensorImpl: it stands for torch's _unsharded_param, which is one object
// for the life of the program, too. The shard is a tensor of its own, and what the optimizer sees.
#pragma once

#include <optional>

#include "framework/fsdp2/options.h"
#include "ghost/tensor.h"

namespace memtape::fsdp2 {

using ghost::Dims;
using ghost::Tensor;

struct ShardPlace {
  std::int64_t shards = 1, index = 0;
};

class FsdpParam {
 public:
  FsdpParam(const Tensor& parameter, ShardPlace place, const Options& options);

  /// fully_shard has returned: the whole parameter goes.
  void drop_original();
  /// model.to_empty(device="cuda") of a shard that was made on the meta device.
  void to_empty();

  /// The shard of another's; a padded copy is each one's own (FSDPParam.reset_sharded_param).
  void share_shard(const FsdpParam& other);

  /// What the rank puts into the gather, in the order torch makes it; `post_forward`: from the
  /// smaller mesh.
  const Tensor& gather_source() const {
    return post_forward_data_.defined() ? post_forward_data_ : sharded_data_;
  }
  /// all_gather_inputs, where no foreach copy makes them.
  Tensor all_gather_input() const;
  bool uses_foreach_copy() const { return param_dtype && !offloads_; }
  DType gathered_dtype() const { return param_dtype.value_or(orig_dtype); }

  /// The first time: torch.empty; later the storage is filled again.
  void alloc_all_gather_output(std::int64_t elements);
  void free_unsharded_param();
  /// A clone of the piece that the smaller mesh keeps.
  void keep_post_forward(std::int64_t shards);
  void drop_post_forward() { post_forward_data_.reset(); }

  /// Gradients of a backward without reduction are kept whole, in the dtype they are reduced in.
  void accumulate_unsharded_grad();
  void to_accumulated_grad();
  /// The whole gradient, taken away; undefined where there is none.
  Tensor take_unsharded_grad();
  /// A view of the reduced flat gradient becomes the shard's .grad, or is added to it.
  void take_sharded_grad(const Tensor& reduced);

  /// Elements of the padded shard.
  std::int64_t sharded_elements() const { return sharded_data_.numel(); }
  /// Of the dimension that is sharded, whole.
  std::int64_t rows() const { return unsharded.size(shard_dim_); }

  Tensor unsharded;  ///< the module's parameter
  Tensor sharded;    ///< the optimizer's parameter
  DType orig_dtype;
  std::optional<DType> param_dtype, reduce_dtype;  ///< only where they mean a cast

 private:
  int shard_dim_;
  bool offloads_;
  ghost::Ptr<ghost::Storage> original_;  ///< the whole parameter's, until fully_shard returns
  Tensor sharded_data_;                  ///< the padded shard
  Tensor post_forward_data_;
  Tensor all_gather_output_;
  Tensor unsharded_accumulated_grad_;
};

}  // namespace memtape::fsdp2
