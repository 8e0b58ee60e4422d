// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace memtape::answer {

/// One of train's options with two values: which of them is meant cannot be known. The framework's
/// own options are taken as its parser takes them: lists add up, of others the last counts.
std::optional<Error> said_twice(std::span<const std::pair<std::string, std::string>> typed);

}  // namespace memtape::answer
