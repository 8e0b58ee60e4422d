// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them: "24GiB" and "80GB" are sizes, "8k" and "1M" are counts of tokens,
// "7B" is a count of parameters. Without a unit they are what they say.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace memtape {

/// GiB, Gi and G are 2^30, GB is 10^9; likewise K, M and T; case ignored. Nothing where it is no
/// such size, is negative or has no room in 63 bits.
std::optional<Bytes> typed_bytes(std::string_view text);

/// k is 1024, M is 1024 * 1024: of tokens, and of what comes in powers of two like them.
std::optional<std::int64_t> typed_tokens(std::string_view text);

/// K, M, B and T are 10^3, 10^6, 10^9 and 10^12: of parameters.
std::optional<std::int64_t> typed_parameters(std::string_view text);

}  // namespace memtape
