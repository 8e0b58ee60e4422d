// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/low_rank/galore_adamw_8bit.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

/// parameter.data = tensor
void set_data(const Tensor& parameter, const Tensor& tensor) {
  parameter.impl().storage = tensor.impl().storage;
  parameter.impl().sizes = tensor.sizes();
  parameter.impl().strides = tensor.strides();
}

}  // namespace

GaloreAdamW8bit::GaloreAdamW8bit(torch::TensorList parameters, std::size_t first_target,
                                 const LowRankRecipe& recipe)
    : BitsAndBytesOptimizer(std::move(parameters), {BitsAndBytesOptim::Algorithm::adamw, 8, false},
                            {}),
      first_target_(first_target),
      projectors_(parameters_.size() - first_target, Projector(recipe, Projector::Kind::svd)),
      unorm_vec_(parameters_.size()) {}

std::vector<const torch::TensorList*> GaloreAdamW8bit::states() const {
  std::vector<const torch::TensorList*> lists = BitsAndBytesOptimizer::states();
  lists.push_back(&unorm_vec_);
  return lists;
}

void GaloreAdamW8bit::update_step(std::size_t place) {
  if (!is_initialized(place)) {
    init_state(place);
    unorm_vec_[place] = ghost::zeros({1}, DType::float32, Category::optimizer_state);
  }
  if (is_in_bytes(place)) return;
  const Tensor in_float = parameters_[place].to_float();
  const Tensor param_norm = ghost::vector_norm(in_float);
}

void GaloreAdamW8bit::step_over(const torch::Places& places) {
  Tensor grad;
  for (const std::size_t place : places) {
    const Tensor& p = parameters_[place];
    if (place < first_target_) {
      update_step(place);
      continue;
    }
    Projector& projector = projectors_[place - first_target_];
    grad = projector.project(p.grad());
    const Tensor saved_data = p.detach().clone();
    ghost::session().set_category(saved_data, Category::parameter);
    set_data(p, grad.clone());
    p.impl().grad = grad.ptr();
    update_step(place);
    const Tensor update = projector.project_back(p.detach());
    set_data(p, saved_data);
  }
}

}  // namespace memtape::transformers
