// SPDX-License-Identifier: Apache-2.0
// Lists written as one word: "q_proj,v_proj".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtape {

/// The parts between the commas. Empty parts are left out.
std::vector<std::string> split_at_commas(std::string_view text);

}  // namespace memtape
