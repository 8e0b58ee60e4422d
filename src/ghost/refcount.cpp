// SPDX-License-Identifier: Apache-2.0
#include "ghost/refcount.h"

#include <memory>
#include <vector>

namespace memtape::ghost {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

/// What the places lie in; freed when the thread ends.
std::vector<std::unique_ptr<std::byte[]>>& chunks() {
  static thread_local std::vector<std::unique_ptr<std::byte[]>> owned;
  return owned;
}

}  // namespace

void Pool::refill(std::size_t slot) {
  const std::size_t size = (slot + 1) * kStep;
  std::byte* chunk =
      chunks().emplace_back(std::make_unique_for_overwrite<std::byte[]>(kChunk)).get();
  for (std::size_t at = 0; at + size <= kChunk; at += size) {
    auto* place = reinterpret_cast<Free*>(chunk + at);
    place->next = lists_[slot];
    lists_[slot] = place;
  }
}

}  // namespace memtape::ghost
