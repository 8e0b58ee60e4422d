// SPDX-License-Identifier: Apache-2.0
#include "ghost/refcount.h"

#include <array>
#include <memory>
#include <vector>

namespace memtape::ghost {
namespace {

constexpr std::size_t kStep = 32, kLargest = 512, kChunk = 64 * 1024;

struct FreeLists {
  std::array<std::vector<void*>, kLargest / kStep> lists;
  std::vector<std::unique_ptr<std::byte[]>> chunks;

  void refill(std::vector<void*>& list, std::size_t size) {
    chunks.push_back(std::make_unique<std::byte[]>(kChunk));
    for (std::size_t at = 0; at + size <= kChunk; at += size) list.push_back(chunks.back().get() + at);
  }
};

FreeLists& free_lists() {
  static thread_local FreeLists lists;
  return lists;
}

}  // namespace

void* Pool::take(std::size_t bytes) {
  if (bytes > kLargest) return ::operator new(bytes);
  const std::size_t slot = (bytes - 1) / kStep;
  FreeLists& pool = free_lists();
  auto& list = pool.lists[slot];
  if (list.empty()) pool.refill(list, (slot + 1) * kStep);
  void* at = list.back();
  list.pop_back();
  return at;
}

void Pool::give(void* at, std::size_t bytes) {
  if (bytes > kLargest) return ::operator delete(at);
  free_lists().lists[(bytes - 1) / kStep].push_back(at);
}

}  // namespace memtape::ghost
