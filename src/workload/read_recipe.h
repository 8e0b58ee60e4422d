// SPDX-License-Identifier: Apache-2.0
// train_recipe: the options of a training, as they were given, become a TrainRecipe; or an Error that
// names the option, what was found and what would be right.
#pragma once

#include <span>

#include "base/result.h"
#include "workload/framework.h"
#include "workload/train_options.h"

namespace memtape {

/// Reads every option that says how to train; options of the device are passed over. --framework
/// names one of `frameworks`, of which the first is meant where nobody names one; --with names
/// releases over those in `releases`.
Result<TrainRecipe> train_recipe(std::span<const NamedValue> options, Frameworks frameworks,
                                 const NamedReleases& releases = {});

}  // namespace memtape
