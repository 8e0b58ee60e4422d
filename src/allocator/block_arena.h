// SPDX-License-Identifier: Apache-2.0
// BlockArena: where Blocks live. Blocks keep their address for life; a released one is handed out
// again first, so the blocks that a program keeps touching stay close together.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "allocator/block.h"

namespace memtape {

class BlockArena {
 public:
  Block* make() {
    if (!free_) grow();
    Block* block = free_;
    free_ = block->next;
    block->next = nullptr;
    return block;
  }

  void release(Block* block) {
    *block = Block{};
    block->next = free_;
    free_ = block;
  }

  /// Calls `visit(Block&)` for each block in use, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& chunk : chunks_)
      for (std::size_t i = 0; i < kChunk; ++i)
        if (chunk[i].pool) visit(chunk[i]);
  }

 private:
  static constexpr std::size_t kChunk = 512;

  void grow() {
    chunks_.push_back(std::make_unique<Block[]>(kChunk));
    Block* chunk = chunks_.back().get();
    for (std::size_t i = kChunk; i-- > 0;) {
      chunk[i].next = free_;
      free_ = &chunk[i];
    }
  }

  std::vector<std::unique_ptr<Block[]>> chunks_;
  Block* free_ = nullptr;
};

}  // namespace memtape
