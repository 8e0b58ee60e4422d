// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "answer/train_options.h"
#include "base/result.h"

namespace memtape::cli {

/// One option with two values: which of them is meant cannot be known. The framework's own options
/// are taken as its parser takes them: lists add up, of others the last counts.
std::optional<Error> said_twice(std::span<const answer::NamedOption> table,
                                std::span<const std::pair<std::string, std::string>> typed);

}  // namespace memtape::cli
