// SPDX-License-Identifier: Apache-2.0
// Lists written as one word: "q_proj,v_proj", "float16|float32".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtape {

/// The parts between the commas. Empty parts are left out.
std::vector<std::string> split_at_commas(std::string_view text);

/// What stands between the separators, empty parts, too; no part of an empty text.
std::vector<std::string_view> parts_between(std::string_view text, char separator);

}  // namespace memtape
