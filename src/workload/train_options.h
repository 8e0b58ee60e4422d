// SPDX-License-Identifier: Apache-2.0
// The options of `memtape train` given their meaning: names and values as typed become a
// TrainRecipe, or an Error that names the option, what was found and what would be right.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "workload/framework.h"
#include "workload/named_value.h"
#include "workload/train_recipe.h"

namespace memtape {

/// Reads every option that says how to train; options of the device and of the layout are passed
/// over. --framework names one of `frameworks`, of which the first is meant where nobody names one;
/// --with names releases over those in `releases`.
Result<TrainRecipe> train_recipe(std::span<const NamedValue> options, Frameworks frameworks,
                                 const NamedReleases& releases = {});

/// Names as the command line spells them.
std::string_view name(Precision precision);
std::string_view name(OptimizerName optimizer);
std::string_view name(OptimizerImpl impl);
std::string_view name(Checkpointing checkpointing);
std::string_view name(AttentionChoice attention);
std::string_view name(InitDevice device);
std::string_view name(Task task);

}  // namespace memtape
