// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/checkpoint.h"

#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/selective_checkpoint.h"

namespace memtape::ghost {
namespace {

struct CheckpointFunctionBackward final : Node {
  using Function = std::function<CheckpointOutputs(const Tensor&)>;
  CheckpointFunctionBackward(const Function& run_function, const Tensor& tensor,
                             const std::function<void()>& let_go_of_saved)
      : Node("CheckpointFunctionBackward"),
        function(run_function),
        let_go(let_go_of_saved),
        requires_grad(tensor.requires_grad()),
        autocast(session().autocast.enabled),
        autocast_dtype(session().autocast.dtype) {}

  void apply(Gradients& in, Gradients& out) override {
    materialize_gradients(in);
    const Tensor saved = input.unpack();
    const Tensor detached = saved.detach();
    detached.impl().requires_grad = requires_grad;
    const CheckpointOutputs outputs = run_again(detached);
    std::vector<Tensor> outputs_with_grad, gradients;
    if (outputs.hidden_states.requires_grad()) {
      outputs_with_grad.push_back(outputs.hidden_states);
      gradients.push_back(in[0]);
    }
    if (outputs.attn_weights.defined() && outputs.attn_weights.requires_grad()) {
      outputs_with_grad.push_back(outputs.attn_weights);
      gradients.push_back(in[1]);
    }
    if (!outputs_with_grad.empty()) ghost::backward(outputs_with_grad, gradients);
    out[0] = detached.grad();
  }
  void release() override {
    input.reset();
    if (let_go) let_go();
  }

  void materialize_gradients(Gradients& in) const {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i].defined()) continue;
      const Op op("zeros", {});
      in[i] = empty(metadata[i].sizes, metadata[i].dtype);
    }
  }

  CheckpointOutputs run_again(const Tensor& detached) const {
    Session& s = session();
    const char* const node = std::exchange(s.node, "");
    const GradMode enable_grad(true);
    const AutocastContext context(autocast, autocast_dtype);
    CheckpointOutputs outputs = function(detached);
    s.node = node;
    return outputs;
  }

  Saved input;
  Function function;
  std::function<void()> let_go;
  bool requires_grad, autocast;
  DType autocast_dtype;
};

}  // namespace

CheckpointOutputs checkpoint_reentrant(
    const std::function<CheckpointOutputs(const Tensor&)>& function, const Tensor& input,
    const std::function<void()>& let_go) {
  Ptr<CheckpointFunctionBackward> node;
  if (session().grad_enabled && input.requires_grad()) {
    node = make_node<CheckpointFunctionBackward>(function, input, let_go);
    node->edges.push_back(gradient_edge(input));
  }
  CheckpointOutputs outputs;
  {
    const GradMode no_grad(false);
    outputs = function(input);
  }
  if (node) {
    node->input.keep(input);
    set_history(outputs.hidden_states, node);
    if (outputs.attn_weights.defined()) set_history(outputs.attn_weights, node);
  }
  return outputs;
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
