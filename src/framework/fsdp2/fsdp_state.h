// SPDX-License-Identifier: Apache-2.0
// FsdpState: the hooks that fully_shard puts around a module (_fsdp_state.py). They gather before
// the forward and let go after it, gather again when the gradient of an output arrives, and reduce
// when the gradients of the inputs have been made. A callback at the end of a backward pass does
// this for modules that no gradient of an input announces.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "framework/fsdp2/param_group.h"
#include "ghost/autograd/node.h"
#include "nn/module.h"

namespace memtape::fsdp2 {

class FsdpState;

/// FSDPStateContext.
struct StateContext {
  std::vector<FsdpState*> all_states;  ///< the root is first
  FsdpState* iter_forward_root = nullptr;
  bool final_callback_queued = false;
  bool is_last_backward = true;
  bool recomputes_layers = false;  ///< torch.utils.checkpoint does so, and compares dtypes
  CommContext comm;
  bool initialized = false;
};

class FsdpState;

/// The hooks of one of the modules of a unit.
class UnitModule final : public nn::ForwardHooks {
 public:
  explicit UnitModule(FsdpState& unit) : unit_(unit) {}

  void before_argument(Tensor& argument) override;
  void before_forward(Tensor& input) override;
  void after_forward(Tensor& output) override;
  void after_further_output(Tensor& output) override;

 private:
  FsdpState& unit_;
};

class FsdpState {
 public:
  /// `modules` is the number of the unit's modules. The first forward of any of them begins the
  /// unit and the last one ends it, after all the others have run. `group` may be null.
  FsdpState(StateContext& context, std::size_t modules, std::unique_ptr<ParamGroup> group,
            const MixedPrecision& policy)
      : context_(context), group_(std::move(group)), policy_(policy) {
    for (std::size_t i = 0; i < modules; ++i) modules_.emplace_back(*this);
  }

  UnitModule& module(std::size_t i) { return modules_[i]; }
  void before_argument(Tensor& argument);
  void before_module();
  void after_module(const UnitModule& module, Tensor& output);
  void after_further_output(Tensor& output) {
    if (state_ != TrainingState::pre_backward) watch(output);
  }
  /// For the root, whose inputs require no gradients and which has several outputs.
  void root_before_forward();
  /// The dtype in which it sees its floating point arguments.
  std::optional<DType> casts_arguments_to() const {
    return policy_.cast_forward_inputs ? policy_.param_dtype : std::nullopt;
  }
  void root_after_forward(const std::vector<Tensor*>& outputs);

  ParamGroup* group() const { return group_.get(); }
  void prefetch_in_forward(FsdpState& other) { forward_prefetch_.push_back(&other); }
  void prefetch_in_backward(FsdpState& other) { backward_prefetch_.push_back(&other); }
  void set_gradient_sync(bool sync, bool reshards_after_backward);
  void final_callback();

 private:
  void pre_forward(const std::vector<Tensor*>& arguments);
  void post_forward(const std::vector<Tensor*>& outputs);
  void watch(Tensor& output);
  void pre_backward();
  static void prefetch(const std::vector<FsdpState*>& others, TrainingState pass);
  void register_post_backward(const std::vector<Tensor*>& arguments);
  void cast_argument(Tensor& argument) const;
  void lazy_init();

  StateContext& context_;
  std::deque<UnitModule> modules_;
  std::vector<const UnitModule*> modules_to_run_;  ///< _modules_to_run_forward
  std::vector<FsdpState*> forward_prefetch_, backward_prefetch_;
  std::vector<Tensor*> arguments_;  ///< the arguments of the call that begins
  std::unique_ptr<ParamGroup> group_;
  MixedPrecision policy_;
  TrainingState state_ = TrainingState::idle;
  ghost::Ptr<ghost::Node> leaf_accumulator_;  ///< that of an output that is a leaf
};

}  // namespace memtape::fsdp2
