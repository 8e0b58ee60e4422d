// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/schedule_free.h"

#include "ghost/ops/foreach.h"
#include "ghost/session.h"

namespace memtape::transformers {

using ghost::Tensor;

ScheduleFree::ScheduleFree(torch::TensorList parameters, bool has_second_moment)
    : Optimizer(std::move(parameters)),
      has_second_moment_(has_second_moment),
      z_(parameters_.size()) {}

void ScheduleFree::init_state(std::size_t place) {
  if (z_[place].defined()) return;
  z_[place] = parameters_[place].clone();
  ghost::session().set_category(z_[place], Category::optimizer_state);
  if (has_second_moment_) init_zeros_like(exp_avg_sq_, place);
}

void ScheduleFree::step_over(const torch::Places& places) {
  for (const std::size_t place : places) init_state(place);
  if (has_second_moment_)
    denom_ = ghost::foreach_like("_foreach_div", ghost::at_places(exp_avg_sq_, places));
  const bool last_group = places.back() == places_with_gradient().back();
  if (last_group) denom_.clear();
}

}  // namespace memtape::transformers
