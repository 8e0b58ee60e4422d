// SPDX-License-Identifier: Apache-2.0
// Transfers: copies and fills between the host and memory that holds nothing.
//
// A copy to the host gives zeros. A lone byte is a truth value, and 1, so that checks like
// mask.all() take their usual branch (Settings::lone_byte). Up to 1 MiB that the host just sent
// comes back as it was while no kernel ran since: a broadcast of host data then reads as this
// rank's own. With backing (Settings::backing) copies and fills up to that size are carried out.
//
// A copy to the host that finds nothing is a *read*: what the program does next may depend on data
// that is not there. Whoever watches (the Python agent) is asked and may have the bytes; what it
// has not, the ledger counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/export.h"

namespace memtape::phantom {

PHANTOM_CORE void copy(void* to, const void* from, std::size_t bytes);
PHANTOM_CORE void fill(void* at, int value, std::size_t bytes);

/// A kernel is launched: what device memory held before need not be there any more.
PHANTOM_CORE void kernel_launched();

/// How many copies of more than a number came from the host so far.
PHANTOM_CORE std::uint64_t sent_copies();

/// Returns whether it has written the bytes of device memory at `from` to `to`.
using ReadWatcher = int (*)(void* to, const void* from, std::size_t bytes);
PHANTOM_CORE void watch_reads(ReadWatcher watcher);

}  // namespace memtape::phantom
