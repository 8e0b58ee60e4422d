// SPDX-License-Identifier: Apache-2.0
// Transfers: copies and fills between the host and device memory, which holds nothing.
//
// A copy to the host gives zeros. A single byte is taken for a truth value and is 1, so that checks
// like mask.all() take their usual branch (Settings::lone_byte). Up to 1 MiB that the host has just
// sent comes back unchanged if no kernel has run since; a broadcast of host data then gives this
// rank's own data. With backing (Settings::backing), copies and fills up to that size are carried
// out.
//
// A copy to the host that finds nothing is a *read*: what the program does next may depend on data
// that is not there. The watcher (the Python agent) is asked first, since it may have the bytes. If
// it does not have them, the ledger counts the read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/export.h"

namespace memtape::phantom {

PHANTOM_CORE void copy(void* to, const void* from, std::size_t bytes);
PHANTOM_CORE void fill(void* at, int value, std::size_t bytes);

/// What the host once sent there is there no more.
PHANTOM_CORE void forget(const void* at, std::size_t bytes);

/// To be called when a kernel is launched: device memory may then hold something else than before.
PHANTOM_CORE void kernel_launched();

/// How many copies larger than a single number have come from the host so far.
PHANTOM_CORE std::uint64_t sent_copies();

/// Returns whether it has written the bytes of device memory at `from` to `to`.
using ReadWatcher = int (*)(void* to, const void* from, std::size_t bytes);
PHANTOM_CORE void watch_reads(ReadWatcher watcher);

}  // namespace memtape::phantom
