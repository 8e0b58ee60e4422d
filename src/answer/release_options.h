// SPDX-License-Identifier: Apache-2.0
// The options that say which releases are meant, where that takes looking at files: --requirements,
// --python, the variable MEMTAPE_WITH and, where nothing is said, the active Python environment.
#pragma once

#include "answer/device_options.h"
#include "release/requirement_list.h"

namespace memtape::answer {

/// Installed packages by name and version, in a Python environment.
using Installed = std::vector<std::pair<std::string, std::string>>;

/// Those of them that are followed, of each the first; `place` is the environment's folder.
NamedReleases releases_of(const Installed& packages, const std::string& place);

/// The releases that a recipe starts with; what --with names is put over them. Fails where two
/// options name releases, or a file cannot be read.
Result<NamedReleases> starting_releases(OptionValues values, const Outside& outside);

}  // namespace memtape::answer
