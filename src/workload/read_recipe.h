// SPDX-License-Identifier: Apache-2.0
// train_recipe: turns the options of a training, as they were given, into a TrainRecipe, or into an
// Error that names the option, what was found and what would be right.
#pragma once

#include <span>

#include "base/result.h"
#include "workload/framework.h"
#include "workload/train_options.h"

namespace memtape {

/// Reads every option that says how to train, and skips options of the device. --framework names
/// one of `frameworks`; if nobody names one, the first is meant. The releases that --with names
/// replace those in `releases`.
Result<TrainRecipe> train_recipe(std::span<const NamedValue> options, Frameworks frameworks,
                                 const NamedReleases& releases = {});

}  // namespace memtape
