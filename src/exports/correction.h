// SPDX-License-Identifier: Apache-2.0
// A launch command in which some options are changed, as it would be typed.
#pragma once

#include "launch/translation.h"

namespace memtape::exports {

/// An option of the engine and its new value.
using Change = std::pair<std::string, std::string>;

/// `typed` (what stood after the --) with the changes. A change is made where the flag is, or else
/// at the end; what a program has no flag for (another file of the weights) is "".
std::string corrected_command(const launch::Translation& translation,
                              std::span<const std::string> typed, std::span<const Change> changes);

}  // namespace memtape::exports
