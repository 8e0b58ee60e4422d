// SPDX-License-Identifier: Apache-2.0
// ModuleHooks: what ZeRO 3 does around every module (deepspeed/runtime/zero/parameter_offload.py):
// it gathers before the forward and releases after it. It does the same in backward, where autograd
// identities around the module announce its turn.
#pragma once

#include "framework/deepspeed/param_coordinator.h"
#include "nn/module.h"

namespace memtape::deepspeed {

class ModuleHooks final : public nn::ForwardHooks {
 public:
  ModuleHooks(ParamCoordinator& coordinator, TracedModule module)
      : coordinator_(coordinator), module_(std::move(module)) {}

  void before_forward(Tensor& input) override;
  void after_forward(Tensor& output) override;
  void after_further_output(Tensor& output) override;

  /// Only pre_sub_module_forward_function, or only post_sub_module_forward_function.
  void fetch() { coordinator_.fetch_sub_module(module_, true); }
  void release() { coordinator_.release_sub_module(module_, true); }
  /// PreBackwardFunctionForModule: the parameters of the module are fetched when the gradient of
  /// `output` arrives.
  void watch_output(Tensor& output);
  /// register_external_parameter: adds a parameter of another module, which is fetched with this
  /// module's own.
  void add_external(ZeroParam& param) { module_.params.push_back(&param); }

 private:
  void watch_input(Tensor& input);

  ParamCoordinator& coordinator_;
  TracedModule module_;
  int grads_remaining_ = 0;  ///< ds_grads_remaining: when it is 0, the backward is over
};

}  // namespace memtape::deepspeed
