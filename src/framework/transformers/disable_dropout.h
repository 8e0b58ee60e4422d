// SPDX-License-Identifier: Apache-2.0
// disable_dropout_in_model (trl 1.16, trainer/utils.py): the rates of modules that are nn.Dropout
// become 0. Layers that call functional.dropout with a rate of their configuration keep it.
#pragma once

#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Whether the trainer disables dropout in its model.
bool disables_dropout(const TrainRecipe& recipe);

/// The configuration in which the rates of such modules are 0.
Config without_dropout(const Config& config);

}  // namespace memtape::transformers
