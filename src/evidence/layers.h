// SPDX-License-Identifier: Apache-2.0
// Layers: a whole recording as a picture: what was allocated over time, stacked by category and by
// the line that asked for it. A column stands for several events in a row and shows the one after
// which most was allocated, so that no peak is lost.
#pragma once

#include <string>
#include <vector>

#include "evidence/account.h"

namespace memtape {

struct Layer {
  Category category = Category::unknown;
  std::string place;         ///< the line of the program or the op; "" stands for all smaller ones
  std::vector<Bytes> bytes;  ///< for each column
};

struct Layers {
  /// For each column, the event after which the bytes are counted.
  std::vector<std::uint32_t> events;
  std::vector<Bytes> reserved;  ///< for each column
  std::vector<Layer> layers;    ///< the layers of one category are next to each other
};

/// At most `columns` columns and at most `most` layers, which are those that hold most at any time.
/// In addition, each category has a layer for its smaller parts.
Layers layers_of(const Recording& recording, const Held& held, Stories& stories,
                 std::size_t columns, std::size_t most);

}  // namespace memtape
