// SPDX-License-Identifier: Apache-2.0
// Which releases an answer is for, in the answer: the packages whose code runs in that program,
// who named them, and what it means where one is newer or older than those that are known.
#pragma once

#include <string>
#include <vector>

#include "outcome/prediction.h"
#include "release/package.h"

namespace memtape {

struct TrainRecipe;

/// The packages whose code decides the figures of this recipe, and whatever else was named.
std::vector<Package> packages_of(const TrainRecipe& recipe);

/// `releases` and `releases_from` of the resolved workload.
std::vector<Setting> release_settings(const TrainRecipe& recipe);

/// "torch 2.8.0, transformers 4.57.6 (--with)"
std::string releases_in_words(const TrainRecipe& recipe);

/// A line for each release outside the known ones: which release's rules the answer follows.
std::vector<std::string> release_warnings(const TrainRecipe& recipe);

}  // namespace memtape
