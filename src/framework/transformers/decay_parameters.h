// SPDX-License-Identifier: Apache-2.0
// Trainer's two groups of parameters: first those that have weight decay, then biases and norms
// (Trainer.create_optimizer, get_decay_parameter_names). Optimizers make their states in this
// order.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "family/pretrained.h"

namespace memtape::transformers {

struct GroupedParameters {
  std::vector<ghost::Tensor> parameters;
  std::size_t decayed = 0;  ///< the number of parameters with weight decay, which come first
};

/// The trainable parameters in the order of the optimizer.
GroupedParameters grouped_parameters(family::PretrainedModel& model);
/// The same, but parameters whose names contain one of `parts` have no weight decay.
GroupedParameters grouped_by_parts(family::PretrainedModel& model,
                                   std::span<const std::string_view> parts);

}  // namespace memtape::transformers
