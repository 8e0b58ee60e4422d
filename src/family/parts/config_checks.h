// SPDX-License-Identifier: Apache-2.0
// Relations that must hold between settings of a configuration, with the same error text for every
// family.
#pragma once

#include <cstdint>

#include "model/config.h"

namespace memtape::family {

/// Fails unless `divisor`, the value of `key`, divides `number`.
void check_divides(const Config& config, const char* key, std::int64_t divisor,
                   std::int64_t number);

/// Fails unless all heads together are as wide as the hidden states.
void check_heads_fill(const Config& config, std::int64_t heads, std::int64_t head_dim,
                      std::int64_t hidden_size);

}  // namespace memtape::family
