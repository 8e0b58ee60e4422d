// SPDX-License-Identifier: Apache-2.0
// ParameterOffload: what ZeRO 3 does with a model's parameters (DeepSpeedZeRoOffload of
// deepspeed/runtime/zero/parameter_offload.py). All of them are partitioned, small ones persist
// once they have been gathered, and hooks around every module gather that module's own. For a model
// that is only evaluated (deepspeed.initialize() without an optimizer), there is nothing else.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "family/pretrained.h"
#include "framework/deepspeed/adapter_reads.h"
#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/module_hooks.h"
#include "framework/deepspeed/zero_init.h"

namespace memtape::deepspeed {

class ParameterOffload {
 public:
  /// If the `recipe` has adapters, the model is inside a PeftModel.
  ParameterOffload(family::PretrainedModel& model, const DsConfig& config,
                   const TrainRecipe& recipe, std::int64_t world_size);

  /// Called around the model's own forward.
  void before_module();
  void after_module(const std::vector<Tensor*>& outputs);
  /// Gathers parameters that are read outside of their module, for as long as the returned object
  /// lives.
  std::shared_ptr<void> gathered(const std::vector<Tensor>& parameters);

  /// trl's unwrap_model_for_generation (trl 1.16, models/utils.py): all parameters are whole and no
  /// module has hooks for as long as the returned object lives.
  std::shared_ptr<void> unwrapped();

  /// These hooks must be in force while the model runs.
  nn::ForwardHooks& activation_hooks() { return *activation_hooks_; }
  ParamCoordinator& coordinator() { return coordinator_; }
  const GatherOptions& gather() const { return gather_; }
  std::deque<ZeroParam>& params() { return zero_init_->params(); }
  const std::deque<ZeroParam>& params() const { return zero_init_->params(); }
  /// The parameters in the order of named_parameters().
  const std::vector<ZeroParam*>& in_order() const { return in_order_; }
  const std::vector<ZeroParam*>& persistent() const { return persistent_; }

 private:
  void convert_to_zero_parameters(family::PretrainedModel& model);
  void mark_persistent_parameters();
  void setup_hooks(family::PretrainedModel& model, bool is_peft_model);
  void watch_adapters(nn::ModuleNode& root);

  ZeroConfig zero_;
  GatherOptions gather_;
  ParamCoordinator coordinator_;
  std::shared_ptr<ZeroInit> zero_init_;
  std::vector<ZeroParam*> in_order_, persistent_;
  std::vector<std::unique_ptr<ModuleHooks>> hooks_;
  /// The hooks of the model and of what is around it, the outermost first.
  std::vector<std::unique_ptr<ModuleHooks>> root_hooks_;
  std::unique_ptr<ModuleHooks> activation_hooks_;
  std::deque<AdapterReads> adapter_reads_;
  bool in_forward_ = false;
};

}  // namespace memtape::deepspeed
