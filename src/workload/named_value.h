// SPDX-License-Identifier: Apache-2.0
// NamedValue: an option and its value as they were typed.
#pragma once

#include <string>
#include <utility>

namespace memtape {

using NamedValue = std::pair<std::string, std::string>;  ///< ("micro-batch-size", "4")

}  // namespace memtape
