// SPDX-License-Identifier: Apache-2.0
// The basic optimizer, which DeepSpeed's own optimizers wrap. It is the program's, or the one that
// the ds_config names (_configure_basic_optimizer of engine.py).
#pragma once

#include <memory>

#include "framework/deepspeed/ds_config.h"
#include "framework/torch/optimizer.h"

namespace memtape::deepspeed {

std::unique_ptr<torch::Optimizer> make_basic_optimizer(const DsConfig& config,
                                                       const TrainRecipe& recipe,
                                                       torch::TensorList parameters);

}  // namespace memtape::deepspeed
