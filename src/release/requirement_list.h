// SPDX-License-Identifier: Apache-2.0
// Releases as people name them: "torch==2.8.0,transformers==4.57.6", the value of --with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "release/release.h"

namespace memtape {

/// Where releases come from that nobody named.
inline constexpr std::string_view kNewestKnown = "newest known";

struct NamedReleases {
  Release release;
  std::vector<Package> named;        ///< in the order they were named, each once
  std::string from{kNewestKnown};    ///< who named them: an option, a file, an environment
  std::vector<std::string> ignored;  ///< packages whose releases change nothing here
};

/// The releases that a list of NAME==VERSION with commas between names, put over `start`. Fails
/// where a pair has another form, a version is none, one package is named with two versions, or a
/// name is nearly that of a package; `where` is the option in the message.
Result<NamedReleases> parse_requirement_list(std::string_view list, std::string_view where,
                                             const Release& start = {});

}  // namespace memtape
