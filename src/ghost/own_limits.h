// SPDX-License-Identifier: Apache-2.0
// Limits of memtape itself, which nobody should take for limits of a GPU.
#pragma once

#include <string_view>

#include "base/result.h"

namespace memtape::ghost {

inline constexpr std::string_view kTooManyAllocations =
    "the program makes more than 40 million allocations";

/// Whether an error is about memtape's limits and says nothing about the program's memory.
inline bool is_own_limit(const Error& error) { return error.what == kTooManyAllocations; }

}  // namespace memtape::ghost
