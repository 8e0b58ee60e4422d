// SPDX-License-Identifier: Apache-2.0
// What is known of the flags of servers beyond what they do: words that people type for them, and
// the releases that have them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "release/version.h"

namespace memtape::launch {

/// What people mean by a word that the engine ("any": `memtape serve`) does not have; "" if nothing
/// is known.
std::string_view meant_flag(std::string_view engine, std::string_view typed);

/// An Error if `release` of the engine is known to stop at one of its flags.
Result<void> check_flag_releases(std::string_view engine, std::span<const std::string> flags,
                                 Version release);

}  // namespace memtape::launch
