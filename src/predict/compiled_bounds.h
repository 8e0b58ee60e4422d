// SPDX-License-Identifier: Apache-2.0
// Bounds of a compiled step: what torch.compile decides beyond the rules that are modelled.
#pragma once

#include "model/config.h"
#include "predict/train.h"

namespace memtape {

/// Where a compiled step runs, and the fullest rank there.
struct CompiledOn {
  const DeviceSetup& device;
  const RankReport& rank;
};

/// Widens the bounds of a compiled step by what its first step leaves reserved, by what checkpoints
/// would have saved and, of a family that has not been laid beside recordings, by what the same
/// step takes uncompiled; those of Trainer's, whose figures are of the uncompiled step, down to
/// what lies between steps. Nothing where the recipe does not compile.
Result<void> widen_by_compile(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const CompiledOn& on);

/// What a reader of a compiled step's figures should know; empty where it is not compiled.
std::string compile_warning(const TrainRecipe& recipe);

}  // namespace memtape
