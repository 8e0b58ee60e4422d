// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/grad_health.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reduce_kernel.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"

namespace memtape::deepspeed {
namespace {

using ghost::In;
using ghost::Op;

/// amax() or amin(): the kernel's partial results have the input's type, as those of all() have.
Tensor extreme(const char* name, const Tensor& x) {
  const Op op(name, {});
  Tensor out = ghost::empty({}, x.dtype());
  ghost::reduce_scratch(x, ghost::all_dims(x.dim()), DType::boolean);
  return out;
}

/// isfinite(): (x == x) * (x.abs() != inf), the right side first.
Tensor isfinite(const In& x) {
  Tensor finite;
  {
    const Tensor magnitude = ghost::abs(*x);
    const Tensor bounded = ghost::ne(magnitude, ghost::kInfinity);
    const Tensor is_number = ghost::eq(*x, *x);
    finite = is_number.mul(bounded);
  }
  x.release();
  return finite;
}

/// (~isfinite(x) | (x < 0)).any()
Tensor any_invalid(const Tensor& x) {
  Tensor infinite = ghost::bitwise_not(isfinite(x));
  Tensor negative = ghost::lt(x, 0);
  return ghost::any(ghost::bitwise_or(std::move(infinite), std::move(negative)));
}

/// mask_nan_or_inf_with_val_inplace
void mask_nan_or_inf(const Tensor& norm) {
  const Tensor is_inf = ghost::isinf(norm);
  const Tensor is_nan = ghost::isnan(norm);
  const Tensor either = ghost::logical_or(is_nan, is_inf);
  const Tensor value = ghost::full({}, DType::float32);
}

}  // namespace

Tensor has_inf_or_nan(const Tensor& x) {
  Tensor below = isfinite(extreme("amax", x));
  Tensor above = isfinite(extreme("amin", x));
  Tensor both = ghost::logical_and(std::move(below), std::move(above));
  return ghost::logical_not(std::move(both));
}

void check_overflow(const std::vector<Tensor>& gradients) {
  const ghost::GradMode no_grad(false);
  Tensor overflow;
  {
    const Tensor count = ghost::zeros({1}, DType::float32);
    for (const Tensor& gradient : gradients) const Tensor flag = has_inf_or_nan(gradient);
    overflow = count.to(DType::boolean);
  }
  const Tensor byte = overflow.to(DType::uint8);
}

void check_grad_norm(const Tensor& norm) {
  const ghost::GradMode no_grad(false);
  const Tensor invalid = any_invalid(norm);
}

Tensor grad_norm_of(const Tensor& gradient) {
  return ghost::vector_norm(gradient.to(DType::float64));
}

Tensor grad_norm_direct(const std::vector<Tensor>& gradients) {
  const ghost::GradMode no_grad(false);
  Tensor total;
  std::vector<Tensor> norms;
  for (const Tensor& gradient : gradients) norms.push_back(grad_norm_of(gradient));
  if (norms.empty()) {
    total = ghost::full({}, DType::float32);
  } else {
    std::vector<Tensor> rows;
    for (const Tensor& norm : norms) rows.push_back(norm.unsqueeze(0));
    total = ghost::sum_all(ghost::cat(rows, 0).pow(2.0)).to_float();
  }
  total = std::move(total).pow(0.5);
  mask_nan_or_inf(total);
  return total;
}

void weight_norm(const std::vector<Tensor>& tensors) {
  const ghost::GradMode no_grad(false);
  Tensor total, norm;
  for (const Tensor& tensor : tensors) {
    norm = ghost::vector_norm(tensor.to_float());
    const Tensor square = norm.pow(2.0);
    if (!total.defined()) total = square.add(0.0);
  }
  const Tensor number = ghost::full({1}, DType::float32);
}

void flattened_grad_norm(const Tensor& gradient) {
  const ghost::GradMode no_grad(false);
  const Tensor norm = ghost::vector_norm(gradient.to_float());
  const Tensor number = ghost::full({1}, DType::float32);
}

Tensor global_norm_of_tensors(const std::vector<Tensor>& tensors) {
  const ghost::GradMode no_grad(false);
  std::vector<Tensor> norms;
  for (const Tensor& tensor : tensors) norms.push_back(ghost::vector_norm(tensor.to_float()));
  std::vector<Tensor> rows;
  for (const Tensor& norm : norms) rows.push_back(norm.unsqueeze(0));
  const Tensor powers = ghost::cat(rows, 0).pow(2.0);
  const Tensor on_device = ghost::sum_all(powers);
  Tensor total = on_device.pow(0.5);
  mask_nan_or_inf(total);
  return total;
}

void clip_by_global_norm(const Tensor& global_norm) {
  const ghost::GradMode no_grad(false);
  const Tensor clip_coef = ghost::rdiv(1.0, global_norm.add(1e-6));
  const Tensor clips = ghost::lt(clip_coef, 1);
}

void clip_grad_norm(const std::vector<Tensor>& gradients) {
  const ghost::GradMode no_grad(false);
  std::vector<Tensor> norms, rows;
  for (const Tensor& gradient : gradients) norms.push_back(ghost::vector_norm(gradient.to_float()));
  for (const Tensor& norm : norms) rows.push_back(norm.unsqueeze(0));
  Tensor total = ghost::sum_all(ghost::cat(rows, 0).pow(2.0)).pow(0.5);
  total = std::move(total).mul(ghost::kScale).div(2.0);
  const Tensor max_norm = ghost::full({1}, DType::float32);
  const Tensor clip_coef = max_norm.div(total.add(1e-6));
  const Tensor one = ghost::full({1}, DType::float32);
  const Tensor smaller = ghost::minimum(clip_coef, one);
}

void check_each_overflow(const std::vector<Tensor>& gradients) {
  const ghost::GradMode no_grad(false);
  for (const Tensor& gradient : gradients) const Tensor flag = has_inf_or_nan(gradient);
  const Tensor overflow = ghost::full({1}, DType::uint8);
}

Tensor combine_grad_norm_groups(const std::vector<Tensor>& norms) {
  const ghost::GradMode no_grad(false);
  std::vector<Tensor> rows;
  for (const Tensor& norm : norms) rows.push_back(norm.unsqueeze(0));
  const Tensor stacked = ghost::cat(rows, 0);
  const Tensor invalid = any_invalid(stacked);
  const Tensor combined = ghost::vector_norm(stacked);
  return ghost::where(invalid, ghost::full({}, combined.dtype()), combined);
}

void clip_by(const Tensor& total_norm) {
  const ghost::GradMode no_grad(false);
  check_grad_norm(total_norm);
  scale_by_clip(total_norm);
}

void scale_by_clip(const Tensor& total_norm) {
  const ghost::GradMode no_grad(false);
  const Tensor clip =
      ghost::clamp(total_norm.div(ghost::kScale).add(1e-6).div(ghost::kScale), {.min = 1.0});
  const Tensor combined_scale = clip.mul(ghost::kScale);
  const Tensor factor = ghost::rdiv(1.0, combined_scale);
}

}  // namespace memtape::deepspeed
