// SPDX-License-Identifier: Apache-2.0
#include "report/unit.h"

#include <fmt/format.h>

namespace memtape::report {

std::string Unit::text(Bytes bytes) const {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(size));
}

}  // namespace memtape::report
