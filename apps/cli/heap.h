// SPDX-License-Identifier: Apache-2.0
// The heap of a process that lives for milliseconds: most of what a large prediction costs beyond
// its own work is the kernel handing out memory page by page. So the heap grows in large steps, is
// shared by all threads, is never given back before the end, and its pages are huge ones where the
// kernel offers them (transparent_hugepage "madvise").
#pragma once

namespace memtape::cli {

/// Call once, first thing. Does nothing where the C library is not glibc.
void prepare_heap();

}  // namespace memtape::cli
