// SPDX-License-Identifier: Apache-2.0
// ParamGroup: the parameters of one unit of fully_shard, gathered and reduced together
// (_fsdp_param_group.py, _fsdp_collectives.py), and what all groups of a model share: the streams
// on which gathers and reductions run, and the buffers they keep alive for each other.
//
//     gather      [copy-in stream]  N x shard bytes, one buffer a unit
//     copy-out    [main stream]     the unit's parameters, whole
//     reduce      [main stream]     N x shard bytes of gradients, until the next unit's reduction
//                 [reduce stream]   the reduced shard, of which the .grads are views
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "framework/fsdp2/fsdp_param.h"

namespace memtape::fsdp2 {

enum class TrainingState { idle, forward, pre_backward, post_backward };

/// Whether a gather runs ahead of its use on its own streams, or on the stream that computes
/// (get_all_gather_streams).
enum class Gather { ahead, now };

class ParamGroup;

/// FSDPCommContext.
struct CommContext {
  StreamId copy_in_stream = 0, reduce_scatter_stream = 0, all_reduce_stream = 0;
  Tensor all_gather_state;  ///< the buffer of the last gather, until the next gather is copied out
  Tensor reduce_scatter_state;  ///< the input of the last reduction, in the same way
  std::vector<ParamGroup*> post_forward_order;

  void lazy_init();
};

class ParamGroup {
 public:
  ParamGroup(const std::vector<Tensor>& parameters, std::int64_t rank, const Options& options);
  ParamGroup(const ParamGroup&) = delete;
  ParamGroup& operator=(const ParamGroup&) = delete;

  void pre_forward();
  void post_forward();
  /// Unless the program says what to gather ahead, that is the group before this one in the order
  /// of the forward.
  void pre_backward(bool default_prefetch);
  /// Gathers the group ahead of its own turn.
  void prefetch_unshard(TrainingState pass);
  void post_backward();
  void finalize_backward();
  /// Keeps the parameters whole from the first gather of the forward to the end of the backward.
  void keep_unsharded_after_forward() { reshards_after_forward_ = false; }

  void unshard(Gather gather = Gather::ahead);
  void wait_for_unshard();
  void reshard();
  bool is_unsharded() const { return is_unsharded_; }

  TrainingState state = TrainingState::idle;
  bool reduce_grads = true, reshard_after_backward = true;
  CommContext* comm = nullptr;
  std::deque<FsdpParam> params;

 private:
  void foreach_all_gather(Gather gather);
  void copy_out();
  void copy_single();
  void foreach_reduce(const std::vector<FsdpParam*>& with_grad, std::vector<Tensor>& grads);
  void copy_in(const std::vector<FsdpParam*>& with_grad, std::vector<Tensor>& grads,
               DType dtype) const;
  void prefetch_backward();
  std::int64_t gathering_shards() const;

  std::int64_t shards_;
  int shard_dim_;
  bool replicates_, divides_gradients_;
  std::optional<std::int64_t> reshard_to_;
  std::function<Tensor(const Tensor&, Tensor)> local_gradient_;
  std::function<void(const Tensor&)> post_accumulate_;
  bool reshards_after_forward_;
  bool is_unsharded_ = false, is_sharded_post_forward_ = false;
  bool has_gathered_ = false;  ///< _all_gather_result exists
  Tensor all_gather_output_;
  Tensor all_reduce_input_;
  std::vector<std::size_t> post_forward_indices_;
};

}  // namespace memtape::fsdp2
