// SPDX-License-Identifier: Apache-2.0
// How far two names are apart: the least number of edits (an insertion, a deletion or a replacement
// of a letter) that turn one into the other. Case is ignored.
#pragma once

#include <cstddef>
#include <string_view>

namespace memtape {

std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace memtape
