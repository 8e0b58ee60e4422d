// SPDX-License-Identifier: Apache-2.0
// The arguments of data/export/plain_loop.py, which `memtape plan --export` writes: memtape's own
// options by their own names.
#pragma once

#include <span>

#include "launch/flags.h"

namespace memtape::launch {

std::span<const Flag> plain_loop_flags();

}  // namespace memtape::launch
