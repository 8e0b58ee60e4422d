// SPDX-License-Identifier: Apache-2.0
// Flame: the bytes of one moment by the Python stacks that asked for them, with the outermost frame
// first.
#pragma once

#include <string>
#include <vector>

#include "evidence/account.h"

namespace memtape {

struct FlameNode {
  std::string frame;
  Bytes bytes = 0;                  ///< with those of its children
  std::vector<FlameNode> children;  ///< the largest first
};

/// The groups of `account` as a tree. The bytes of frames that hold less than `least` count for
/// their callers.
FlameNode flame_of(const Account& account, Stories& stories, Bytes least);

}  // namespace memtape
