// SPDX-License-Identifier: Apache-2.0
// What trl's configurations began with in earlier releases (release/trl_changes.h), and what of their
// trainers is not transcribed.
#pragma once

#include <span>

#include "base/result.h"
#include "option/given.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers::trl {

/// Sets the defaults of the recipe's release in the place of those of trl 1.16, where the options say
/// nothing.
void take_defaults_of_release(std::span<const NamedValue> options, TrainRecipe& recipe);

/// What the release's trainer does otherwise than trl 1.16's in a way that is not transcribed is
/// said. It is an error if there was no such trainer, or quite another.
Result<void> settle_release(TrainRecipe& recipe);

}  // namespace memtape::transformers::trl
