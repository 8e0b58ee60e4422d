// SPDX-License-Identifier: Apache-2.0
// BlockPool: the free blocks of requests up to 1 MiB (small) or above (large), stream by stream,
// and the address space of expandable segments that has no memory behind it yet.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/block.h"
#include "allocator/free_blocks.h"

namespace memtape {

class BlockPool {
 public:
  explicit BlockPool(bool small) : is_small(small) {}

  FreeBlocks& free_blocks(StreamId stream) {
    if (stream >= streams_.size()) add_streams(stream);
    return *streams_[stream];
  }
  void insert(Block* block) {
    block->gc_base = searches;
    streams_[block->stream]->insert(block);
  }
  void erase(const Block* block) { streams_[block->stream]->erase(block); }

  std::size_t streams() const { return streams_.size(); }

  const bool is_small;
  std::uint32_t searches =
      0;  ///< how often a free block was looked for: the clock of garbage collection
  std::vector<Block*> unmapped;  ///< of expandable segments, by (stream, address)

 private:
  void add_streams(StreamId stream) {
    while (streams_.size() <= stream) streams_.push_back(std::make_unique<FreeBlocks>());
  }

  std::vector<std::unique_ptr<FreeBlocks>> streams_;
};

}  // namespace memtape
