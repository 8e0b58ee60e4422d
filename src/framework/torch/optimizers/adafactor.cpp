// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/adafactor.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/foreach.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::torch {
namespace {

using ghost::Dims;

/// tensor.norm(2).item()
void read_norm(const Tensor& tensor) { const Tensor norm = ghost::vector_norm(tensor); }

/// `sizes` with the one along `d` counted from the end made 1.
Dims with_one(Dims sizes, int d) {
  sizes[d] = 1;
  return sizes;
}

TensorList norms_along(const TensorList& grads, int d) {
  TensorList norms;
  for (const Tensor& grad : grads) norms.push_back(ghost::vector_norm(grad, d));
  return norms;
}

/// The matrices of each dtype apart from the vectors, in order of appearance
/// (_group_tensors_by_device_dtype_and_is_multidim).
std::vector<Places> split_by_rank(const std::vector<Places>& groups, const TensorList& parameters) {
  std::vector<Places> split;
  for (const Places& group : groups) {
    Places matrices, vectors;
    for (std::size_t place : group)
      (parameters[place].dim() > 1 ? matrices : vectors).push_back(place);
    const bool vectors_first = parameters[group.front()].dim() <= 1;
    for (Places* part :
         {vectors_first ? &vectors : &matrices, vectors_first ? &matrices : &vectors})
      if (!part->empty()) split.push_back(std::move(*part));
  }
  return split;
}

}  // namespace

void Adafactor::init_state(std::size_t place) {
  for (TensorList* list : {&row_var_, &col_var_, &variance_}) list->resize(parameters_.size());
  if (row_var_[place].defined() || variance_[place].defined()) return;
  const Tensor grad = parameters_[place].grad();
  if (grad.dim() <= 1) {
    variance_[place] = ghost::zeros_like(grad, Category::optimizer_state);
    return;
  }
  row_var_[place] =
      ghost::zeros(with_one(grad.sizes(), -1), grad.dtype(), Category::optimizer_state);
  col_var_[place] =
      ghost::zeros(with_one(grad.sizes(), -2), grad.dtype(), Category::optimizer_state);
}

void Adafactor::step_over(const Places& places) {
  for (std::size_t place : places) init_state(place);
  if (form_ == OptimizerImpl::foreach)
    multi_tensor(places);
  else
    single_tensor(places);
}

void Adafactor::single_tensor(const Places& places) {
  Tensor row_mean, col_mean, grad_squared, var_estimate, update;
  for (std::size_t place : places) {
    const Tensor grad = parameters_[place].grad();
    read_norm(parameters_[place]);
    if (grad.dim() > 1) {
      row_mean = ghost::vector_norm(grad, -1);
      col_mean = ghost::vector_norm(grad, -2);
      var_estimate = row_var_[place].matmul(col_var_[place]);
      {
        const Tensor mean = row_var_[place].mean(-2, true);
      }
    } else {
      grad_squared = grad.mul(grad);
      var_estimate = variance_[place].clone();
    }
    update = var_estimate;
    read_norm(update);
  }
}

TensorList Adafactor::factored_estimates(const Places& group) {
  const TensorList grads = grads_at(group);
  {
    const TensorList row_means = norms_along(grads, -1);
  }
  {
    const TensorList col_means = norms_along(grads, -2);
  }
  TensorList var_estimates, row_var_means;
  for (std::size_t place : group) var_estimates.push_back(row_var_[place].matmul(col_var_[place]));
  for (std::size_t place : group) row_var_means.push_back(row_var_[place].mean(-2, true));
  return var_estimates;
}

TensorList Adafactor::full_estimates(const Places& group) {
  {
    const TensorList grads_squared = ghost::foreach_like("_foreach_mul", grads_at(group));
  }
  TensorList var_estimates;
  for (std::size_t place : group) var_estimates.push_back(variance_[place].clone());
  return var_estimates;
}

void Adafactor::multi_tensor(const Places& places) {
  TensorList updates;
  for (const Places& group : split_by_rank(grouped(places), parameters_)) {
    for (std::size_t place : group) read_norm(parameters_[place]);
    updates =
        parameters_[group.front()].dim() > 1 ? factored_estimates(group) : full_estimates(group);
    for (const Tensor& update : updates) read_norm(update);
  }
}

}  // namespace memtape::torch
