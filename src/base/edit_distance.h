// SPDX-License-Identifier: Apache-2.0
// How far two names are apart: the edits (insert, delete, replace, each 1) that turn one into the
// other, letters compared without case.
#pragma once

#include <cstddef>
#include <string_view>

namespace memtape {

std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace memtape
