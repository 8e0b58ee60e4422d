// SPDX-License-Identifier: Apache-2.0
// The options that say which releases are meant, if this needs files: --requirements, --python, the
// variable MEMTAPE_WITH and, if nothing is said, the active Python environment.
#pragma once

#include "answer/device_options.h"
#include "release/requirement_list.h"

namespace memtape::answer {

/// The packages that are installed in a Python environment, by name and version.
using Installed = std::vector<std::pair<std::string, std::string>>;

/// The known packages among these, each with its first version. `place` is the folder of the
/// environment.
NamedReleases releases_of(const Installed& packages, const std::string& place);

/// The releases with which a recipe starts. What --with names replaces them. It fails if two
/// options name releases, or if a file cannot be read.
Result<NamedReleases> starting_releases(OptionValues values, const Outside& outside);

}  // namespace memtape::answer
