// SPDX-License-Identifier: Apache-2.0
// Trainer's two groups of parameters: those that weight decay is for come first, then biases and
// norms (Trainer.create_optimizer, get_decay_parameter_names). The order is that in which
// optimizers make their states.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "family/pretrained.h"

namespace memtape::transformers {

struct GroupedParameters {
  std::vector<ghost::Tensor> parameters;
  std::size_t decayed = 0;  ///< so many lead
};

/// The trainable parameters in optimizer order.
GroupedParameters grouped_parameters(family::PretrainedModel& model);
/// The same where names with one of `parts` in them are spared the decay.
GroupedParameters grouped_by_parts(family::PretrainedModel& model,
                                   std::span<const std::string_view> parts);

}  // namespace memtape::transformers
