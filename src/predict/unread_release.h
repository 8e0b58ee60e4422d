// SPDX-License-Identifier: Apache-2.0
// Where transcribed files are otherwise at the release that is meant and nobody compared them.
#pragma once

#include <string>

#include "model/config.h"

namespace memtape {

struct TrainRecipe;

/// One sentence that names the family, the files and the release, and whose rules the answer follows;
/// "" where steps of the family were recorded under that release, or none of its files is otherwise.
std::string unread_warning(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape
