// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/parameter_offload.h"

#include <algorithm>
#include <utility>

#include "framework/deepspeed/zero3_linear.h"
#include "framework/torch/lora_layer.h"
#include "ghost/autograd/node.h"
#include "ghost/session.h"
#include "workload/train_recipe.h"

namespace memtape::deepspeed {

using ghost::GradMode;

ParameterOffload::ParameterOffload(family::PretrainedModel& model, const DsConfig& config,
                                   const TrainRecipe& recipe, std::int64_t world_size)
    : zero_(config.zero),
      gather_{.world_size = world_size,
              .sequential = config.zero.allgather_sequential,
              .by_all_reduce = config.zero.use_all_reduce_for_fetch_params},
      coordinator_(config.zero, gather_),
      zero_init_(config.zero_init ? config.zero_init
                                  : std::make_shared<ZeroInit>(config, world_size)) {
  const GradMode no_grad(false);
  convert_to_zero_parameters(model);
  mark_persistent_parameters();
  if (zero_.overlap_comm) coordinator_.gather_on(ghost::session().make_stream());
  setup_hooks(model, recipe.lora.has_value());
}

/// Of a model made under zero.Init those are left that came later: adapters.
void ParameterOffload::convert_to_zero_parameters(family::PretrainedModel& model) {
  const std::vector<Tensor> parameters = nn::parameters(model.tree.root());
  for (const Tensor& p : parameters) in_order_.push_back(&zero_init_->cut(p));
}

void ParameterOffload::mark_persistent_parameters() {
  std::int64_t persistent = 0;
  for (ZeroParam* param : in_order_) {
    if (param->numel + persistent > zero_.model_persistence_threshold ||
        param->numel > zero_.param_persistence_threshold)
      continue;
    param->persists = true;
    persistent_.push_back(param);
    persistent += param->numel;
  }
}

/// PeftModel calls LoraModel, which calls the model (BaseTuner.forward of peft's tuners_utils.py):
/// two modules without parameters of their own, at which parameters are fetched ahead all the same.
void ParameterOffload::setup_hooks(family::PretrainedModel& model, bool is_peft_model) {
  if (zero_.memory_efficient_linear) use_memory_efficient_linear(model.tree.root());
  std::size_t id = 0;
  const auto traced = [&](const nn::ModuleNode* node) {
    TracedModule module{.id = id++, .params = {}};
    if (!node) return module;
    for (const nn::ModuleNode::Named& p : node->parameters)
      module.params.push_back(&zero_init_->cut(p.tensor));
    return module;
  };
  if (is_peft_model)
    for (int i = 0; i < 2; ++i)
      root_hooks_.push_back(std::make_unique<ModuleHooks>(coordinator_, traced(nullptr)));
  root_hooks_.push_back(std::make_unique<ModuleHooks>(coordinator_, traced(&model.tree.root())));
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root())) {
    hooks_.push_back(std::make_unique<ModuleHooks>(coordinator_, traced(module.node)));
    module.node->hooks.push_back(hooks_.back().get());
  }
  watch_adapters(model.tree.root());
  activation_hooks_ = std::make_unique<ModuleHooks>(coordinator_, traced(nullptr));
}

/// After the hooks of all modules: what reads an adapter does so when its base layer has returned.
void ParameterOffload::watch_adapters(nn::ModuleNode& root) {
  for (std::size_t i = 0; const nn::NamedModule& module : nn::named_modules(root)) {
    ModuleHooks& hooks = *hooks_[i++];
    const nn::Projection* const layer = module.node->projection;
    const auto* const adapter =
        layer ? dynamic_cast<const torch::LoraLinear*>(layer->adapter.get()) : nullptr;
    if (!adapter) continue;
    ZeroParam& weight_A = zero_init_->cut(adapter->weight_A());
    adapter_reads_.emplace_back(*adapter, weight_A, hooks, gather_);
    module.node->children.front()->hooks.push_back(&adapter_reads_.back());
  }
}

/// In the engine's forward, ZeROOrderedDict makes them external parameters of the module that runs
/// (parameter_offload.py), which is the whole model here; elsewhere zero.GatheredParameters.
std::shared_ptr<void> ParameterOffload::gathered(const std::vector<Tensor>& parameters) {
  std::vector<ZeroParam*> cut;
  for (ZeroParam& param : params()) {
    const bool is_read = std::any_of(parameters.begin(), parameters.end(), [&](const Tensor& p) {
      return p.defined() && p.ptr() == param.parameter.ptr();
    });
    if (is_read && !param.is_available()) cut.push_back(&param);
  }
  if (cut.empty()) return nullptr;
  const GradMode no_grad(false);
  all_gather(cut, gather_);
  if (in_forward_) {
    for (ZeroParam* param : cut) root_hooks_.back()->add_external(*param);
    return nullptr;
  }
  return {nullptr, [cut](void*) {
            const GradMode without_grad(false);
            for (ZeroParam* param : cut) param->release();
          }};
}

/// zero.GatheredParameters of all, remove_hooks() and add_hooks(). The end of it partitions what
/// persists, too.
std::shared_ptr<void> ParameterOffload::unwrapped() {
  std::vector<ZeroParam*> all;
  for (ZeroParam& param : params()) all.push_back(&param);
  const GradMode no_grad(false);
  all_gather(all, gather_);
  for (ZeroParam* param : all) param->active_modules.clear();
  coordinator_.is_unhooked = true;
  return {nullptr, [this, all](void*) {
            const GradMode without_grad(false);
            coordinator_.is_unhooked = false;
            coordinator_.invalidate_trace();
            for (ZeroParam* param : all) param->release();
          }};
}

void ParameterOffload::before_module() {
  in_forward_ = true;
  coordinator_.reset_step();
  for (const auto& hooks : root_hooks_) hooks->fetch();
}

void ParameterOffload::after_module(const std::vector<Tensor*>& outputs) {
  in_forward_ = false;
  for (auto hooks = root_hooks_.rbegin(); hooks != root_hooks_.rend(); ++hooks) {
    (*hooks)->release();
    for (Tensor* output : outputs) (*hooks)->watch_output(*output);
  }
}

}  // namespace memtape::deepspeed
