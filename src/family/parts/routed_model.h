// SPDX-License-Identifier: Apache-2.0
// RoutedModel: a model with experts for a caller that runs the body alone and asks it for the
// router logits (output_router_logits=True).
#pragma once

#include <vector>

#include "family/pretrained.h"

namespace memtape::family {

class RoutedModel {
 public:
  RoutedModel() = default;
  virtual ~RoutedModel() = default;
  RoutedModel(const RoutedModel&) = delete;
  RoutedModel& operator=(const RoutedModel&) = delete;

  /// The loss that balances the load of the experts.
  virtual Tensor balancing_loss(const std::vector<Tensor>& router_logits,
                                const Tensor& attention_mask) const = 0;
};

}  // namespace memtape::family
