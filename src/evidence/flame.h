// SPDX-License-Identifier: Apache-2.0
// Flame: the bytes of one moment by the Python stacks that asked for them, outermost frame first.
#pragma once

#include <string>
#include <vector>

#include "evidence/account.h"

namespace memtape {

struct FlameNode {
  std::string frame;
  Bytes bytes = 0;                  ///< with those of its children
  std::vector<FlameNode> children;  ///< largest first
};

/// `account`'s groups as a tree. Frames that hold less than `least` are left to their callers.
FlameNode flame_of(const Account& account, Stories& stories, Bytes least);

}  // namespace memtape
