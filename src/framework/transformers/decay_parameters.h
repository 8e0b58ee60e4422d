// SPDX-License-Identifier: Apache-2.0
// Trainer's two groups of parameters: those that weight decay is for come first, then biases and
// norms (Trainer.create_optimizer, get_decay_parameter_names). The order is that in which
// optimizers make their states.
#pragma once

#include <cstddef>
#include <vector>

#include "family/pretrained.h"

namespace memtape::transformers {

struct GroupedParameters {
  std::vector<ghost::Tensor> parameters;
  std::size_t decayed = 0;  ///< so many lead
};

/// The trainable parameters in optimizer order.
GroupedParameters grouped_parameters(family::PretrainedModel& model);

}  // namespace memtape::transformers
