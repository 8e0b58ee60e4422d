// SPDX-License-Identifier: Apache-2.0
// Since which release of transformers there is a family: the first minor release whose
// models/auto maps its model_type (read in the wheels from 4.45 to 5.23).
#pragma once

#include <string_view>

#include "base/result.h"
#include "release/release.h"

namespace memtape::family {

/// Fails where the release of transformers has no such model_type yet. Types that no release has
/// (code of their own repositories) and those older than 4.46 pass.
Result<void> check_is_there(std::string_view model_type, const Release& release);

}  // namespace memtape::family
