// SPDX-License-Identifier: Apache-2.0
// Leaks: blocks of one stack whose number grows with every step. A step is what recurs: an
// optimizer's span if the snapshot marks it, else the rarest allocation among those that are freed
// again each time.
#pragma once

#include <vector>

#include "evidence/account.h"

namespace memtape {

struct Leak {
  StackId stack = 0;
  Bytes requested = 0;  ///< of each block
  Bytes bytes = 0;      ///< the sum over the blocks that are alive at the end
  std::int64_t count = 0;
  double per_step = 0;  ///< the number of blocks
};

struct Steps {
  std::vector<std::uint32_t> begin;  ///< the events at which steps begin
  bool is_marked = false;            ///< the snapshot itself marks the steps
};

Steps steps_of(const Recording& recording, const Held& held);
std::vector<Leak> leaks_of(const Held& held, const Steps& steps);

}  // namespace memtape
