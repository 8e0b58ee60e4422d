// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/checkpoint.h"

#include "ghost/autocast.h"
#include "ghost/autograd/checkpoint_of_several.h"
#include "ghost/autograd/selective_checkpoint.h"

namespace memtape::ghost {

CheckpointOutputs checkpoint_reentrant(
    const std::function<CheckpointOutputs(const Tensor&)>& function, const Tensor& input,
    const std::function<void()>& let_go) {
  const auto part = [function](const std::vector<Tensor>& inputs) {
    CheckpointOutputs outputs = function(inputs.front());
    return std::vector<Tensor>{std::move(outputs.hidden_states), std::move(outputs.attn_weights)};
  };
  std::vector<Tensor> outputs = checkpoint_reentrant_of_several(part, {input}, let_go);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

CheckpointFrame::CheckpointFrame(const Tensor& input, Recompute recompute)
    : input_(input),
      recompute_(std::move(recompute)),
      autocast_(session().autocast.enabled),
      autocast_dtype_(session().autocast.dtype) {
  note_kept(input_);
}

/// The forward: counts what would have been saved, and saves nothing.
std::int64_t CheckpointFrame::pack(const Tensor&) {
  holders_.emplace_back();
  return static_cast<std::int64_t>(holders_.size()) - 1;
}

Tensor CheckpointFrame::unpack(std::int64_t handle) {
  if (!recomputed_) run_again();
  return std::move(holders_[static_cast<std::size_t>(handle)].tensor);
}

void CheckpointFrame::drop(std::int64_t handle) {
  Holder& holder = holders_[static_cast<std::size_t>(handle)];
  holder.alive = false;
  holder.tensor.reset();
}

/// While the part runs again: hands each tensor that is saved to its holder. With the last one the
/// rest is not needed: torch raises _StopRecomputationError out of the op that saves it; here the
/// ops after it make nothing.
class CheckpointFrame::RecomputationHook final : public SavedTensorHooks {
 public:
  explicit RecomputationHook(CheckpointFrame& frame) : frame_(frame) {}
  std::int64_t pack(const Tensor& tensor) override {
    if (next_ == frame_.holders_.size()) return -1;
    Holder& holder = frame_.holders_[next_++];
    if (holder.alive) holder.tensor = tensor.requires_grad() ? tensor.detach() : tensor;
    const KeptOutputs* const kept = given_here<KeptOutputs>();
    if (complete() && (!kept || kept->stops_early())) session().skipping = true;
    return -1;
  }
  Tensor unpack(std::int64_t) override { return {}; }
  void drop(std::int64_t) override {}
  bool complete() const { return next_ == frame_.holders_.size(); }

 private:
  CheckpointFrame& frame_;
  std::size_t next_ = 0;
};

void CheckpointFrame::run_again() {
  recomputed_ = true;
  Session& s = session();
  const char* const node = std::exchange(s.node, "");
  const std::uint32_t selective_pass = std::exchange(s.selective_pass, 0);
  RecomputationHook hook(*this);
  {
    const ScopeGuard scope(s.scope);
    const GradMode enable_grad(true);
    const AutocastContext autocast(autocast_, autocast_dtype_);
    const SavedTensorHooksGuard hooks(&hook);
    recompute_(input_);
  }
  s.skipping = s.error.has_value();
  s.node = node;
  s.selective_pass = selective_pass;
  if (!hook.complete())
    s.fail({ErrorKind::internal, "checkpoint: fewer tensors were saved when a layer was recomputed",
            node, ""});
}

}  // namespace memtape::ghost
