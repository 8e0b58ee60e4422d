// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizer.h"

#include <algorithm>
#include <span>
#include <string>

#include "framework/torch/optimizers/adafactor.h"
#include "framework/torch/optimizers/adafactor_hf.h"
#include "framework/torch/optimizers/adagrad.h"
#include "framework/torch/optimizers/adam.h"
#include "framework/torch/optimizers/adamax.h"
#include "framework/torch/optimizers/nadam.h"
#include "framework/torch/optimizers/rmsprop.h"
#include "framework/torch/optimizers/sgd.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/foreach.h"
#include "ghost/session.h"
#include "workload/train_options.h"

namespace memtape::torch {
namespace {

/// The optimizers whose kernels for the GPU are fused; Adagrad's is for the CPU only.
bool has_fused(OptimizerName optimizer) {
  switch (optimizer) {
    case OptimizerName::adamw:
    case OptimizerName::adam:
    case OptimizerName::sgd:
    case OptimizerName::sgd_momentum: return true;
    default: return false;
  }
}

}  // namespace

void Optimizer::step() {
  const ghost::GradMode no_grad(false);
  const Places places = places_with_gradient();
  const auto second = one_pass_over_groups()
                          ? places.end()
                          : std::lower_bound(places.begin(), places.end(), second_group_);
  if (second != places.begin()) step_over(Places(places.begin(), second));
  if (second != places.end()) step_over(Places(second, places.end()));
}

void Optimizer::zero_grad() {
  for (const Tensor& parameter : parameters_) parameter.impl().grad.reset();
}

Bytes Optimizer::state_bytes() const {
  Bytes bytes = 0;
  for (const TensorList* list : states())
    for (const Tensor& state : *list)
      if (state.defined()) bytes += state.nbytes();
  return bytes;
}

Places Optimizer::places_with_gradient() const {
  Places places;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].impl().grad) places.push_back(i);
  return places;
}

std::vector<Places> Optimizer::grouped(const Places& places) const {
  std::vector<Places> groups = ghost::grouped_by_dtype(ghost::at_places(parameters_, places));
  for (Places& group : groups)
    for (std::size_t& place : group) place = places[place];
  return groups;
}

TensorList Optimizer::grads_at(const Places& places) const {
  TensorList grads;
  grads.reserve(places.size());
  for (std::size_t place : places) grads.push_back(parameters_[place].grad());
  return grads;
}

TensorList Optimizer::gradient_operands(const Places& places) const {
  TensorList operands;
  if (!operand_) return operands;
  for (std::size_t place : places)
    if (Tensor operand = operand_(parameters_[place]); operand.defined())
      operands.push_back(std::move(operand));
  return operands;
}

void Optimizer::init_zeros_like(TensorList& state, std::size_t place) const {
  state.resize(parameters_.size());
  if (state[place].defined()) return;
  const ghost::ScopeGuard guard(scope_of(place));
  state[place] = ghost::zeros_like(parameters_[place], Category::optimizer_state);
}

ScopeId Optimizer::scope_of(std::size_t place) const {
  const ghost::Session& s = ghost::session();
  const auto& storage = parameters_[place].impl().storage;
  return storage ? s.tape.why[storage->block].scope : s.scope;
}

Result<void> check_optimizer(OptimizerName optimizer, OptimizerImpl form) {
  if (form != OptimizerImpl::fused || has_fused(optimizer)) return {};
  return bad_input("torch has no fused " + std::string(name(optimizer)) + " for GPUs",
                   "--optimizer-impl",
                   optimizer == OptimizerName::adafactor_hf ? "for-loop" : "foreach or for-loop");
}

std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe, TensorList parameters) {
  const OptimizerImpl form = recipe.optimizer_impl;
  if (parameters.empty())
    ghost::session().fail({ErrorKind::bad_input, "no parameter is left to train", "--freeze",
                           "a pattern that leaves some"});
  switch (recipe.optimizer) {
    case OptimizerName::adamw:
    case OptimizerName::adam: return std::make_unique<Adam>(std::move(parameters), form);
    case OptimizerName::sgd: return std::make_unique<Sgd>(std::move(parameters), form, 0.0);
    case OptimizerName::sgd_momentum:
      return std::make_unique<Sgd>(std::move(parameters), form, 0.9);
    case OptimizerName::adagrad: return std::make_unique<Adagrad>(std::move(parameters), form);
    case OptimizerName::rmsprop: return std::make_unique<RmsProp>(std::move(parameters), form);
    case OptimizerName::adamax: return std::make_unique<Adamax>(std::move(parameters), form);
    case OptimizerName::nadam: return std::make_unique<NAdam>(std::move(parameters), form);
    case OptimizerName::adafactor: return std::make_unique<Adafactor>(std::move(parameters), form);
    case OptimizerName::adafactor_hf: return std::make_unique<AdafactorHf>(std::move(parameters));
  }
  return nullptr;
}

}  // namespace memtape::torch
