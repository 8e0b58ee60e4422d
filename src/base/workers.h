// SPDX-License-Identifier: Apache-2.0
// Workers: whoever does pieces of work that do not depend on each other. A program may lend
// threads. By default there is one worker, which does one piece after the other.
#pragma once

#include <cstddef>
#include <functional>

namespace memtape {

struct Workers {
  using Work = std::function<void(std::size_t worker, std::size_t piece)>;

  std::size_t count = 1;
  /// Calls `work` once for each number below `pieces`. A worker does one piece at a time. The call
  /// returns when all pieces are done.
  std::function<void(std::size_t pieces, const Work& work)> share = [](std::size_t pieces,
                                                                       const Work& work) {
    for (std::size_t piece = 0; piece < pieces; ++piece) work(0, piece);
  };
};

}  // namespace memtape
