// SPDX-License-Identifier: Apache-2.0
// Which optimizer updates the parameters, and which of torch's implementations of it.
//
// Names are those of the command line; Trainer's own optimizers are in trainer_recipe.h.
#pragma once

namespace memtape {

enum class OptimizerName {
  adamw,
  adam,
  sgd,
  sgd_momentum,
  adagrad,
  rmsprop,
  adamax,
  nadam,
  adafactor,
  adafactor_hf
};
enum class OptimizerImpl { fused, foreach, for_loop };

}  // namespace memtape
