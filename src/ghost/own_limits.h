// SPDX-License-Identifier: Apache-2.0
// What memtape itself does not follow any further, so that nobody takes it for a limit of a GPU.
#pragma once

#include <string_view>

#include "base/result.h"

namespace memtape::ghost {

inline constexpr std::string_view kTooManyAllocations =
    "the program makes more than 20 million allocations";

/// Whether an error says nothing of the program's memory.
inline bool is_own_limit(const Error& error) { return error.what == kTooManyAllocations; }

}  // namespace memtape::ghost
