// SPDX-License-Identifier: Apache-2.0
#include "family/parts/config_checks.h"

#include <string>

namespace memtape::family {

void check_divides(const Config& config, const char* key, std::int64_t divisor,
                   std::int64_t number) {
  if (divisor <= 0 || divisor > number || number % divisor != 0)
    config.fail(key,
                "must divide " + std::to_string(number) + ", found " + std::to_string(divisor));
}

void check_heads_fill(const Config& config, std::int64_t heads, std::int64_t head_dim,
                      std::int64_t hidden_size) {
  if (heads * head_dim != hidden_size)
    config.fail("head_dim",
                "times num_attention_heads must be hidden_size " + std::to_string(hidden_size));
}

}  // namespace memtape::family
