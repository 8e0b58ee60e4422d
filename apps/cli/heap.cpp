// SPDX-License-Identifier: Apache-2.0
#include "heap.h"

#include <cstdint>
#include <cstdlib>

#include "threads.h"

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace memtape::cli {

#ifdef __GLIBC__
namespace {

constexpr std::uintptr_t kStep = std::uintptr_t{32} << 20, kHugePage = std::uintptr_t{2} << 20;

std::uintptr_t heap_end() { return reinterpret_cast<std::uintptr_t>(sbrk(0)); }

}  // namespace

void prepare_heap() {
  mallopt(M_ARENA_MAX, static_cast<int>(threads().count));
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, static_cast<int>(kStep));
  const std::uintptr_t before = heap_end();
  void* volatile grown = std::malloc(kHugePage);  // volatile, or the compiler drops the pair
  std::free(grown);
  const std::uintptr_t first = (before + kHugePage - 1) / kHugePage * kHugePage;
  if (const std::uintptr_t end = heap_end(); end > first)
    madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

void give_back_what_is_freed() {
  mallopt(M_ARENA_MAX, 1);
  constexpr int kLargeBlock = 1 << 17, kManyBlocks = 1 << 16, kUnused = 1 << 20;
  mallopt(M_MMAP_MAX, kManyBlocks);
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  mallopt(M_TRIM_THRESHOLD, kUnused);
  mallopt(M_TOP_PAD, kLargeBlock);
}
#else
void prepare_heap() {}
void give_back_what_is_freed() {}
#endif

}  // namespace memtape::cli
