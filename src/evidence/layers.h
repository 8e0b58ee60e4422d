// SPDX-License-Identifier: Apache-2.0
// Layers: the whole of a recording as a picture: what was allocated over time, by category and by
// the line that asked for it, stacked. A column stands for some events in a row and shows the one
// of them after which most was allocated, so that no peak is lost.
#pragma once

#include <string>
#include <vector>

#include "evidence/account.h"

namespace memtape {

struct Layer {
  Category category = Category::unknown;
  std::string place;         ///< the line of the program, or the op; "" for all the smaller ones
  std::vector<Bytes> bytes;  ///< by column
};

struct Layers {
  std::vector<std::uint32_t> events;  ///< by column: the event after which it is
  std::vector<Bytes> reserved;        ///< by column
  std::vector<Layer> layers;          ///< those of one category together
};

/// At most `columns` columns and, beside one for each category's smaller parts, `most` layers:
/// those that hold most at any time.
Layers layers_of(const Recording& recording, const Held& held, Stories& stories,
                 std::size_t columns, std::size_t most);

}  // namespace memtape
