// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/sgd.h"

#include "ghost/session.h"

namespace memtape::torch {

void Sgd::step_over(const Places& places) {
  if (momentum_ != 0.0) keep_momentum(places);
  if (form_ != OptimizerImpl::for_loop) {
    const TensorList added = gradient_operands(places);
    return;
  }
  for (std::size_t place : places) const TensorList added = gradient_operands({place});
}

void Sgd::keep_momentum(const Places& places) {
  const std::vector<Places> groups =
      form_ == OptimizerImpl::foreach ? grouped(places) : std::vector<Places>{places};
  for (const Places& group : groups) {
    for (std::size_t place : group) {
      if (momentum_buffer_[place].defined()) continue;
      momentum_buffer_[place] = parameters_[place].grad().detach().clone();
      ghost::session().set_category(momentum_buffer_[place], Category::optimizer_state);
    }
  }
}

}  // namespace memtape::torch
