// SPDX-License-Identifier: Apache-2.0
// What was given for options, as text: names without dashes, and values as they were typed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memtape {

using NamedValue = std::pair<std::string, std::string>;  ///< ("micro-batch-size", "4")
using NamedValues = std::vector<NamedValue>;

/// The last value that was given for an option, or null.
inline const std::string* last_value(std::span<const NamedValue> values, std::string_view name) {
  for (std::size_t i = values.size(); i-- > 0;)
    if (values[i].first == name) return &values[i].second;
  return nullptr;
}

}  // namespace memtape
