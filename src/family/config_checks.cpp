// SPDX-License-Identifier: Apache-2.0
#include "family/config_checks.h"

#include <string>

namespace memtape::family {

void check_divides(const Config& config, const char* key, std::int64_t divisor,
                   std::int64_t number) {
  if (divisor <= 0 || divisor > number || number % divisor != 0)
    config.fail(key,
                "must divide " + std::to_string(number) + ", found " + std::to_string(divisor));
}

}  // namespace memtape::family
