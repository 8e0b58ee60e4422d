// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/adafactor_hf.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::torch {
namespace {

using ghost::Dims;

/// _rms: norm over a number.
Tensor rms(const Tensor& tensor) { return ghost::vector_norm(tensor).div(2.0); }

/// _approx_sq_grad
Tensor approx_sq_grad(const Tensor& exp_avg_sq_row, const Tensor& exp_avg_sq_col) {
  const Tensor r_factor = exp_avg_sq_row.div(exp_avg_sq_row.mean(-1, true)).unsqueeze(-1);
  const Tensor c_factor = ghost::rsqrt(exp_avg_sq_col.unsqueeze(-2));
  return r_factor.mul(c_factor);
}

bool is_of_two_bytes(const Tensor& tensor) { return bits(tensor.dtype()) == 16; }

}  // namespace

AdafactorHf::AdafactorHf(TensorList parameters)
    : Optimizer(std::move(parameters)),
      exp_avg_sq_row_(parameters_.size()),
      exp_avg_sq_col_(parameters_.size()),
      exp_avg_sq_(parameters_.size()),
      rms_(parameters_.size()) {}

/// torch.zeros(shape).to(grad) comes from the CPU: one block of the shape.
void AdafactorHf::init_state(const Tensor& grad, std::size_t place) {
  if (rms_[place].defined()) return;
  if (grad.dim() < 2) {
    exp_avg_sq_[place] = ghost::zeros_like(grad, Category::optimizer_state);
    return;
  }
  Dims without_row = grad.sizes();
  without_row.erase(grad.dim() - 2);
  exp_avg_sq_row_[place] =
      ghost::zeros(grad.sizes().leading(), grad.dtype(), Category::optimizer_state);
  exp_avg_sq_col_[place] = ghost::zeros(without_row, grad.dtype(), Category::optimizer_state);
}

Tensor AdafactorHf::factored_update(const Tensor& squares, std::size_t place) {
  {
    const Tensor of_rows = squares.mean(-1);
  }
  {
    const Tensor of_columns = squares.mean(-2);
  }
  return approx_sq_grad(exp_avg_sq_row_[place], exp_avg_sq_col_[place]);
}

void AdafactorHf::step_over(const Places& places) {
  Tensor grad, p_data_fp32, update;
  for (std::size_t place : places) {
    const Tensor& p = parameters_[place];
    grad = p.grad();
    if (is_of_two_bytes(grad)) grad = grad.to_float();
    grad = project(std::move(grad), place);
    init_state(grad, place);
    p_data_fp32 = p;
    if (is_of_two_bytes(p)) p_data_fp32 = p_data_fp32.to_float();
    rms_[place] = rms(p_data_fp32);
    ghost::session().set_category(rms_[place], Category::optimizer_state);
    update = grad.pow(2).add(1e-30);
    update = grad.dim() >= 2 ? factored_update(update, place) : ghost::rsqrt(exp_avg_sq_[place]);
    {
      const Tensor clipped = rms(update).div(2.0);
    }
    update = project_back(std::move(update), place);
    {
      const Tensor negative = update.neg();
    }
  }
}

}  // namespace memtape::torch
