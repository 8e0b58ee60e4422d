// SPDX-License-Identifier: Apache-2.0
// The objective of the trainer that is asked for: that of transformers, or one of trl's.
#pragma once

#include <memory>

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"

namespace memtape::transformers {

/// `reference` is the model beside the one that is trained, or null.
std::unique_ptr<Objective> make_objective(const TrainRecipe& recipe, const PreparedModel& model,
                                          const PreparedModel* reference);

}  // namespace memtape::transformers
