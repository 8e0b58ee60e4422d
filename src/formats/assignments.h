// SPDX-License-Identifier: Apache-2.0
// Configurations that are Python files of assignments, as nanoGPT's: `name = value  # why`, a line
// each.
#pragma once

#include <string>
#include <string_view>

#include "formats/settings.h"

namespace memtape {

/// 5 * 8 as its product; anything else as it stands, without quotes.
std::string python_value(std::string_view text);

void set_assignments(std::string_view text, std::string_view file, Settings& settings);

}  // namespace memtape
