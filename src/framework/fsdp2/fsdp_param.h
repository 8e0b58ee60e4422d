// SPDX-License-Identifier: Apache-2.0
// FsdpParam: one parameter of fully_shard (_fsdp_param.py). Its shard consists of rows of dimension
// 0 (or of another dimension that all ranks share evenly), padded to as many rows as the first rank
// has. When it is gathered, it is whole in a tensor whose storage is emptied when the unit is
// resharded, and filled again at the next gather.
//
// The module keeps its own TensorImpl. It stands for torch's _unsharded_param, which is also one
// object for the life of the program. The shard is a separate tensor, which the optimizer sees.
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

  /// fully_shard has returned, so the whole parameter is freed.
  void drop_original();
  /// model.to_empty(device="cuda") for a shard that was made on the meta device.
  void to_empty();

  /// Takes the shard of another parameter. Each of the two has its own padded copy
  /// (FSDPParam.reset_sharded_param).
  void share_shard(const FsdpParam& other);

  /// What the rank puts into the gather, in the order in which torch makes it. With `post_forward`
  /// it comes from the smaller mesh.
  const Tensor& gather_source() const {
    return post_forward_data_.defined() ? post_forward_data_ : sharded_data_;
  }
  /// all_gather_inputs, if no foreach copy makes them.
  Tensor all_gather_input() const;
  bool uses_foreach_copy() const { return param_dtype && !offloads_; }
  DType gathered_dtype() const { return param_dtype.value_or(orig_dtype); }

  /// The first call is torch.empty; later calls fill the storage again.
  void alloc_all_gather_output(std::int64_t elements);
  void free_unsharded_param();
  /// Keeps a clone of the piece that the smaller mesh keeps.
  void keep_post_forward(std::int64_t shards);
  void drop_post_forward() { post_forward_data_.reset(); }

  /// The gradients of a backward without reduction are kept whole, in the dtype in which they are
  /// reduced.
  void accumulate_unsharded_grad();
  void to_accumulated_grad();
  /// Takes the whole gradient away. It is undefined if there is none.
  Tensor take_unsharded_grad();
  /// A view of the reduced flat gradient becomes the .grad of the shard, or is added to it.
  void take_sharded_grad(const Tensor& reduced);

  /// The elements of the padded shard.
  std::int64_t sharded_elements() const { return sharded_data_.numel(); }
  /// The rows of the whole parameter along the dimension that is sharded.
  std::int64_t rows() const { return unsharded.size(shard_dim_); }

  Tensor unsharded;  ///< the parameter that the module has
  Tensor sharded;    ///< the parameter that the optimizer has
  DType orig_dtype;
  std::optional<DType> param_dtype, reduce_dtype;  ///< set only if they mean a cast

 private:
  int shard_dim_;
  bool offloads_;
  ghost::Ptr<ghost::Storage> original_;  ///< that of the whole parameter, until fully_shard returns
  Tensor sharded_data_;                  ///< the padded shard
  Tensor post_forward_data_;
  Tensor all_gather_output_;
  Tensor unsharded_accumulated_grad_;
};

}  // namespace memtape::fsdp2
