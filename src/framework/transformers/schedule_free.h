// SPDX-License-Identifier: Apache-2.0
// AdamWScheduleFree, RAdamScheduleFree and SGDScheduleFree of schedulefree 1.4 in their foreach
// form (adamw_schedulefree.py ...): the state is a copy z of each parameter and, for the first two,
// a second moment. RAdam is modelled after its first steps, in which it does no Adam step yet.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::transformers {

class ScheduleFree final : public torch::Optimizer {
 public:
  ScheduleFree(torch::TensorList parameters, bool has_second_moment);

 private:
  void step_over(const torch::Places& places) override;
  std::vector<const torch::TensorList*> states() const override { return {&z_, &exp_avg_sq_}; }
  void init_state(std::size_t place);

  bool has_second_moment_;
  torch::TensorList z_, exp_avg_sq_;
  torch::TensorList denom_;  ///< a local of step() that lives on from one group to the next
};

}  // namespace memtape::transformers
