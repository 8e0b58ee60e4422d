// SPDX-License-Identifier: Apache-2.0
// Bounds of a step under torch.compile: how far its own choices may move the peak away from the
// modelled rules.
#pragma once

#include "model/config.h"
#include "predict/train.h"

namespace memtape {

/// The device of a compiled step, and the report of its fullest rank.
struct CompiledOn {
  const DeviceSetup& device;
  const RankReport& rank;
};

/// Widens the bounds of a compiled step. The causes are what its first step leaves reserved, what
/// checkpoints would have saved and, if the family has not been compared with recordings, what the
/// same step takes uncompiled. Trainer's figures are those of the uncompiled step: there the lower
/// bound goes down to what lies between steps. Does nothing if the recipe does not compile.
Result<void> widen_by_compile(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const CompiledOn& on);

/// A warning for readers of a compiled step's figures; empty if the step is not compiled.
std::string compile_warning(const TrainRecipe& recipe);

}  // namespace memtape
