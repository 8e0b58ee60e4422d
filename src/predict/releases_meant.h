// SPDX-License-Identifier: Apache-2.0
// What an answer says about the releases that it holds for: the packages whose code runs in that
// program, who named their releases, and what follows if a release is newer or older than the known
// ones.
#pragma once

#include <string>
#include <vector>

#include "outcome/prediction.h"
#include "release/package.h"

namespace memtape {

struct TrainRecipe;

/// The packages whose code decides the figures of this recipe, and any others that were named.
std::vector<Package> packages_of(const TrainRecipe& recipe);

/// The settings `releases` and `releases_from` of the resolved workload.
std::vector<Setting> release_settings(const TrainRecipe& recipe);

/// "torch 2.8.0, transformers 4.57.6 (--with)"
std::string releases_in_words(const TrainRecipe& recipe);

/// One line for each release outside of the known ones. It says which release's rules the answer
/// follows.
std::vector<std::string> release_warnings(const TrainRecipe& recipe);

}  // namespace memtape
