// SPDX-License-Identifier: Apache-2.0
// FsdpState: one FullyShardedDataParallel module at work (_runtime_utils.py). It gathers the flat
// parameter before the forward and lets go of it afterwards, gathers it again when the gradient of
// an output arrives, and reduces its gradient when that has been accumulated. Meanwhile it gathers
// the unit that is needed next ahead of its use.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "framework/fsdp1/flat_handle.h"
#include "nn/module.h"

namespace memtape::fsdp1 {

class FsdpState;

/// What the root shares with all units: the streams, and the order in which units run.
struct SharedState {
  explicit SharedState(const Options& wanted) : options(wanted) {}

  const Options options;
  std::vector<FsdpState*> all_states;  ///< the root is first
  StreamId unshard_stream = 0, post_backward_stream = 0, pre_unshard_stream = 0,
           all_reduce_stream = 0;
  std::vector<FlatHandle*> pre_forward_order, post_forward_order;
  int iteration = 0;
  bool initialized = false, callback_queued = false;
  bool sync_gradients = true;
  bool recomputes_layers = false;  ///< torch.utils.checkpoint does so, and compares dtypes
};

class FsdpState final : public nn::ForwardHooks {
 public:
  FsdpState(SharedState& shared, std::unique_ptr<FlatHandle> handle, bool is_root)
      : shared_(shared), handle_(std::move(handle)), is_root_(is_root) {}

  void before_argument(Tensor& argument) override { arguments_.push_back(&argument); }
  void before_forward(Tensor& input) override { pre_forward(&input); }
  void after_forward(Tensor& output) override { post_forward({&output}); }
  void after_further_output(Tensor& output) override;
  /// _root_pre_forward.
  void root_pre_forward(const std::vector<nn::ModuleNode::Named*>& buffers);
  /// _unshard_fsdp_state_params, for as long as the returned object lives.
  std::shared_ptr<void> summon(const std::vector<nn::ModuleNode::Named*>& buffers);
  void pre_forward(const Tensor* input);
  void post_forward(const std::vector<Tensor*>& outputs);

  FlatHandle* handle() const { return handle_.get(); }

 private:
  enum class Prefetch { forward, backward };

  void lazy_init(const std::vector<nn::ModuleNode::Named*>& buffers);
  void unshard(FlatHandle& handle);
  void prefetch(Prefetch mode);
  FlatHandle* handle_to_prefetch() const;
  void register_post_backward_hook();
  void cast_arguments(const std::vector<Tensor*>& arguments) const;
  void record_post_forward();
  void check_shared_gradients() const;
  void watch(Tensor& output);
  void register_reshard_only_hook(const Tensor* input);
  void pre_backward_hook();
  void post_backward_hook();
  void reduce_grad();
  void reduce_grad_no_shard();
  void offload_grad(const Tensor& grad);
  void accumulate_sharded_grad(Tensor grad);
  bool should_free_in_backward() const;
  void final_callback();
  void finalize();

  SharedState& shared_;
  std::unique_ptr<FlatHandle> handle_;
  bool is_root_;
  std::vector<Tensor*> arguments_;  ///< the arguments of the call that begins
};

}  // namespace memtape::fsdp1
