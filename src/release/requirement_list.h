// SPDX-License-Identifier: Apache-2.0
// Releases as people name them: "torch==2.8.0,transformers==4.57.6", the value of --with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "release/release.h"

namespace memtape {

/// Says where the releases come from that nobody named.
inline constexpr std::string_view kNewestKnown = "newest known";

struct NamedReleases {
  Release release;
  std::vector<Package> named;        ///< each once, in the order in which they were named
  std::string from{kNewestKnown};    ///< who named them: an option, a file, an environment
  std::vector<std::string> ignored;  ///< packages whose releases change nothing in memtape
};

/// Adds the releases of a list of NAME==VERSION, separated by commas, to `start`. It fails if a
/// pair has another form, if a version is not valid, if one package has two versions, or if a name
/// is nearly that of a package. `where` is the option in the message.
Result<NamedReleases> parse_requirement_list(std::string_view list, std::string_view where,
                                             const Release& start = {});

}  // namespace memtape
