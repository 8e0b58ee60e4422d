// SPDX-License-Identifier: Apache-2.0
// Leaks: blocks of one stack that become more with every step. A step is what comes again: an
// optimizer's span where the snapshot marks it, else the allocation that happens most rarely of
// those that are freed again each time.
#pragma once

#include <vector>

#include "evidence/account.h"

namespace memtape {

struct Leak {
  StackId stack = 0;
  Bytes requested = 0;  ///< of each block
  Bytes bytes = 0;      ///< alive at the end, all together
  std::int64_t count = 0;
  double per_step = 0;  ///< blocks
};

struct Steps {
  std::vector<std::uint32_t> begin;  ///< events at which steps begin
  bool is_marked = false;            ///< by the snapshot itself
};

Steps steps_of(const Recording& recording, const Held& held);
std::vector<Leak> leaks_of(const Held& held, const Steps& steps);

}  // namespace memtape
