// SPDX-License-Identifier: Apache-2.0
// The heap of a process that lives for milliseconds. Apart from its own work, a large prediction
// mostly pays for the kernel handing out memory page by page. So the heap grows in large steps, it
// is not given back before the end, and its pages are huge if the kernel offers such pages
// (transparent_hugepage "madvise"). Threads that work side by side have a part of their own: one
// for all made a search over DeepSeek-V3's layouts wait for its lock half of the time.
#pragma once

namespace memtape::cli {

/// Call it once, before anything else. It does nothing if the C library is not glibc.
void prepare_heap();

/// The opposite, for a service, which lives long and holds little: what is freed is given back, and
/// its threads, which wait for requests, share one part.
void give_back_what_is_freed();

}  // namespace memtape::cli
