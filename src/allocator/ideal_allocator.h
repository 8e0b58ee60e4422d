// SPDX-License-Identifier: Apache-2.0
// IdealAllocator: no rounding, no segments, no fragmentation: its level is the sum of live
// requests. It is the lower bound of every allocator, and what (delta, peak) summaries of a tape
// compute without playing it.
#pragma once

#include "allocator/statistics.h"
#include "base/bytes.h"

namespace memtape {

class IdealAllocator {
 public:
  void malloc(Bytes bytes) { level_.increase(bytes); }
  void free(Bytes bytes) { level_.decrease(bytes); }

  Bytes level() const { return level_.current; }
  Bytes peak() const { return level_.peak; }

 private:
  Stat level_;
};

}  // namespace memtape
