// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/stable_adamw.h"

#include "ghost/ops/creation.h"

namespace memtape::transformers {
namespace {

ghost::Tensor number(const ghost::Dims& sizes, DType dtype) {
  return ghost::zeros(sizes, dtype, Category::optimizer_state);
}

}  // namespace

StableAdamW::StableAdamW(torch::TensorList parameters)
    : Optimizer(std::move(parameters)),
      eps_sq_(parameters_.size()),
      kahan_comp_(parameters_.size()),
      mean_square_(parameters_.size()) {}

void StableAdamW::step_over(const torch::Places& places) {
  for (const std::size_t place : places)
    if (!mean_square_[place].defined()) init_state(place);
}

void StableAdamW::init_state(std::size_t place) {
  const DType dtype = parameters_[place].dtype();
  init_zeros_like(exp_avg_, place);
  init_zeros_like(exp_avg_sq_, place);
  eps_sq_[place] = number({}, dtype);
  if (bits(dtype) == 16)
    init_zeros_like(kahan_comp_, place);
  else
    kahan_comp_[place] = number({1}, DType::uint8);
  mean_square_[place] = number({1}, DType::float32);
}

}  // namespace memtape::transformers
