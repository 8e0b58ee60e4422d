// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/initialize.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "family/masks/masking.h"
#include "framework/deepspeed/basic_optimizer.h"
#include "framework/deepspeed/bf16_optimizer.h"
#include "framework/deepspeed/stage3.h"
#include "framework/deepspeed/stage_1_and_2.h"
#include "framework/deepspeed/unpartitioned.h"
#include "framework/torch/model_setup.h"
#include "ghost/autograd/engine.h"

namespace memtape::deepspeed {
namespace {

void cast_buffers_below(const nn::ModuleNode& module, DType dtype) {
  for (const nn::ModuleNode::Named& buffer : module.buffers) {
    if (!buffer.tensor.is_floating_point() || buffer.tensor.dtype() == dtype) continue;
    const Tensor cast = buffer.tensor.to(dtype);
    ghost::session().set_category(cast, Category::buffer);
    buffer.tensor.impl().storage = cast.impl().storage;
    buffer.tensor.impl().dtype = dtype;
  }
  for (const nn::ModuleNode* child : module.children) cast_buffers_below(*child, dtype);
}

std::unique_ptr<EngineOptimizer> make_engine_optimizer(family::PretrainedModel& model,
                                                       const DsConfig& config,
                                                       const TrainRecipe& recipe, Rank rank,
                                                       const std::vector<Tensor>& second_group) {
  if (config.zero.stage == 3)
    return std::make_unique<Stage3>(model, config, recipe, rank, second_group);
  std::vector<Tensor> parameters = torch::trainable_parameters(model);
  if (config.zero.stage == 0) return make_unpartitioned(std::move(parameters), config, recipe);
  const std::vector<std::vector<Tensor>> groups = parameter_groups(parameters, second_group);
  if (config.uses_bf16_optimizer())
    return std::make_unique<Bf16Optimizer>(groups, config, recipe, rank);
  return std::make_unique<Stage1And2>(groups, config, recipe, rank);
}

void cast_parameters(const std::vector<Tensor>& parameters, DType dtype) {
  const ghost::GradMode no_grad(false);
  for (const Tensor& p : parameters) {
    if (!p.is_floating_point() || p.dtype() == dtype) continue;
    const Tensor cast = p.to(dtype);
    ghost::session().set_category(cast, Category::parameter);
    p.impl().storage = cast.impl().storage;
    p.impl().dtype = dtype;
  }
}

/// initialize_optimizer_states of ZeRO's optimizers: torch's Adagrad alone makes its states in its
/// constructor. Partitions of zero.Init are empty then.
bool makes_states_at_once(const DsConfig& config, const TrainRecipe& recipe) {
  const OptimizerName name = config.optimizer ? config.optimizer->name : recipe.optimizer;
  const bool is_torch =
      !config.optimizer || config.optimizer->kind == ConfiguredOptimizer::Kind::torch;
  return is_torch && name == OptimizerName::adagrad && config.zero.stage > 0 && !config.zero_init;
}

/// Without partitions the optimizer is handed float32 copies of which it has no states.
void check_optimizer(const DsConfig& config, const TrainRecipe& recipe) {
  const OptimizerName name = config.optimizer ? config.optimizer->name : recipe.optimizer;
  const bool hands_over_copies = (config.zero.stage == 0 && config.model_dtype != DType::float32) ||
                                 config.uses_bf16_optimizer();
  if (name == OptimizerName::adagrad && hands_over_copies)
    ghost::session().fail({ErrorKind::bad_input,
                           "Adagrad has no states of the float32 copies that DeepSpeed makes",
                           "--optimizer", "adamw, or ZeRO 2 or 3"});
}

/// Of a model made under zero.Init they were made in its dtype.
std::vector<Tensor> castable_parameters(family::PretrainedModel& model, const DsConfig& config) {
  std::vector<Tensor> castable = nn::parameters(model.tree.root());
  if (config.has_float32_adapters)
    std::erase_if(castable, [](const Tensor& p) { return p.requires_grad(); });
  return castable;
}

}  // namespace

void cast_parameters(family::PretrainedModel& model, DType dtype) {
  cast_parameters(nn::parameters(model.tree.root()), dtype);
}

void cast_buffers(family::PretrainedModel& model, DType dtype) {
  cast_buffers_below(model.tree.root(), dtype);
}

std::vector<std::vector<Tensor>> parameter_groups(const std::vector<Tensor>& parameters,
                                                  const std::vector<Tensor>& second_group) {
  std::vector<std::vector<Tensor>> groups(2);
  for (const Tensor& p : parameters) {
    const bool is_second = std::ranges::any_of(
        second_group, [&](const Tensor& other) { return other.ptr() == p.ptr(); });
    groups[is_second ? 1 : 0].push_back(p);
  }
  std::erase_if(groups, [](const std::vector<Tensor>& group) { return group.empty(); });
  return groups;
}

Result<std::unique_ptr<family::PretrainedModel>> make_under_zero_init(const Config& config,
                                                                      const TrainRecipe& recipe,
                                                                      ZeroInit& zero_init) {
  auto model = [&] {
    const nn::ModuleInitInForce init(zero_init);
    return torch::new_model(config, recipe);
  }();
  if (!model) return model;
  zero_init.keep_only(nn::parameters((*model)->tree.root()));
  if (const Result<void> ready = torch::adapt_model(**model, recipe, config); !ready)
    return tl::unexpected(ready.error());
  return model;
}

Engine::Engine(family::PretrainedModel& model, const DsConfig& config, const TrainRecipe& recipe,
               Rank rank, const std::vector<Tensor>& second_group)
    : DrivenModel(model),
      packed_sequences_(config.packed_sequences),
      offloads_optimizer_(config.zero.offload_optimizer) {
  check_optimizer(config, recipe);
  if (makes_states_at_once(config, recipe))
    basic_optimizer_ = make_basic_optimizer(config, recipe, torch::trainable_parameters(model));
  cast_parameters(castable_parameters(model, config), config.model_dtype);
  if (config.zero_init) cast_buffers(model, config.model_dtype);
  whole_ = torch::count_statics(model);
  optimizer_ = make_engine_optimizer(model, config, recipe, rank, second_group);
}

void Engine::call(const std::function<Outputs()>& module) {
  optimizer_->before_forward();
  const family::PackedSequences packed(packed_sequences_);
  optimizer_->before_module();
  optimizer_->after_module(module());
}

void Engine::backward(const Tensor& loss, bool boundary, Scaling scaling) {
  const Tensor gas_scaled_loss = scaling == Scaling::by_accumulation ? loss.div(2.0) : loss;
  const Tensor scaled = optimizer_->scale_if_loss(gas_scaled_loss);
  optimizer_->backward_prologue(boundary);
  ghost::backward(scaled);
  optimizer_->backward_epilogue(boundary);
}

void Engine::step() {
  optimizer_->step();
  global_grad_norm_ = optimizer_->global_grad_norm;
  optimizer_->zero_grad();
}

torch::StaticBytes Engine::statics() {
  torch::StaticBytes statics = whole_;
  if (const auto bytes = optimizer_->parameter_bytes()) statics.parameter_bytes = *bytes;
  if (offloads_optimizer_) return statics;  // the host holds the rest
  statics.gradient_bytes = optimizer_->gradient_bytes();
  statics.optimizer_state_bytes = optimizer_->basic().state_bytes() + optimizer_->master_bytes();
  return statics;
}

}  // namespace memtape::deepspeed
