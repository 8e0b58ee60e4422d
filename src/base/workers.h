// SPDX-License-Identifier: Apache-2.0
// Workers: who does pieces of work that know nothing of each other. A program may lend threads; by
// itself there is one worker, who does one piece after the other.
#pragma once

#include <cstddef>
#include <functional>

namespace memtape {

struct Workers {
  using Work = std::function<void(std::size_t worker, std::size_t piece)>;

  std::size_t count = 1;
  /// Calls `work` once for each piece below `pieces`; a worker has one piece at a time. Back when
  /// all are done.
  std::function<void(std::size_t pieces, const Work& work)> share = [](std::size_t pieces,
                                                                       const Work& work) {
    for (std::size_t piece = 0; piece < pieces; ++piece) work(0, piece);
  };
};

}  // namespace memtape
