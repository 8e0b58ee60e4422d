// SPDX-License-Identifier: Apache-2.0
// What must hold between two settings of a configuration, said the same way for every family.
#pragma once

#include <cstdint>

#include "model/config.h"

namespace memtape::family {

/// `divisor`, found under `key`, must divide `number` without remainder.
void check_divides(const Config& config, const char* key, std::int64_t divisor,
                   std::int64_t number);

/// All heads together must be as wide as the hidden states.
void check_heads_fill(const Config& config, std::int64_t heads, std::int64_t head_dim,
                      std::int64_t hidden_size);

}  // namespace memtape::family
