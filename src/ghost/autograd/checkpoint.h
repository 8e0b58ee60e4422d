// SPDX-License-Identifier: Apache-2.0
// Checkpointing: a part of the model whose backward needs are computed again instead of kept
// (torch/utils/checkpoint.py, use_reentrant=False, the default of transformers'
// gradient_checkpointing_enable).
//
// The forward runs under hooks that keep nothing of what nodes want to save; the frame keeps the
// inputs. When backward first unpacks one of the missing tensors, the part runs again, up to the
// last tensor that was wanted and no further, and each recomputed tensor lives until its node has
// used it. The frame, and the inputs with it, goes with the last node that needs it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ghost/autograd/node.h"

namespace memtape::ghost {

/// One checkpointed call (_CheckpointFrame and its two hooks).
class CheckpointFrame final : public SavedTensorHooks {
 public:
  using Recompute = std::function<void(const Tensor& input)>;
  CheckpointFrame(const Tensor& input, Recompute recompute);

  std::int64_t pack(const Tensor& tensor) override;
  Tensor unpack(std::int64_t handle) override;
  void drop(std::int64_t handle) override;

 private:
  class RecomputationHook;
  void run_again();

  Tensor input_;
  Recompute recompute_;
  bool autocast_;
  DType autocast_dtype_;
  bool recomputed_ = false;
  struct Holder {
    bool alive = true;  ///< its node has not let go of it
    Tensor tensor;      ///< recomputed, and not used yet
  };
  std::vector<Holder> holders_;  ///< one per tensor saved in the forward, in order
};

/// Puts hooks in force for a scope.
class SavedTensorHooksGuard {
 public:
  explicit SavedTensorHooksGuard(SavedTensorHooks* hooks)
      : before_(std::exchange(session().hooks, hooks)) {}
  ~SavedTensorHooksGuard() { session().hooks = before_; }
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;

 private:
  SavedTensorHooks* before_;
};

/// torch.utils.checkpoint.checkpoint(function, input). What `function` captures by value lives as
/// long as the frame.
template <class Function>
auto checkpoint(const Function& function, const Tensor& input) {
  if (!session().grad_enabled) return function(input);
  const Ptr<CheckpointFrame> frame(
      new CheckpointFrame(input, [function](const Tensor& again) { function(again); }));
  const SavedTensorHooksGuard hooks(frame.get());
  return function(input);
}

/// The same with use_reentrant=True (CheckpointFunction): the forward runs without gradients;
/// backward runs it again completely, with its graph, inside one node. What `function` captures
/// lives as long as the graph; `let_go`, if there is one, is called when the node lets go of what
/// it saved. No loss depends on the attention weights of such a part, if it returns any; yet backward
/// makes zeros for their gradient (set_materialize_grads) and takes these through the part.
struct CheckpointOutputs {
  Tensor hidden_states, attn_weights;
};
CheckpointOutputs checkpoint_reentrant(
    const std::function<CheckpointOutputs(const Tensor&)>& function, const Tensor& input,
    const std::function<void()>& let_go = {});

}  // namespace memtape::ghost
