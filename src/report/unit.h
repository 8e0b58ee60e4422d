// SPDX-License-Identifier: Apache-2.0
// Unit: the one unit that a table or a picture uses for all its numbers. It is GiB, or MiB if GiB
// would show only zeros.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace memtape::report {

struct Unit {
  std::string_view name;  ///< "GiB" or "MiB"
  Bytes size;

  /// Two decimals without the unit: "12.34".
  std::string text(Bytes bytes) const;
};

/// The unit for numbers whose largest is `largest`.
constexpr Unit unit_for(Bytes largest) {
  return largest >= 1_GiB ? Unit{"GiB", 1_GiB} : Unit{"MiB", 1_MiB};
}

}  // namespace memtape::report
