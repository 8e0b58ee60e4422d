// SPDX-License-Identifier: Apache-2.0
// How the caching allocator gives memory back to the driver: on empty_cache, before a retry, and by
// garbage collection.
#include <algorithm>

#include "allocator/caching_allocator.h"

namespace memtape {
namespace {

/// Visits the free blocks of all streams in PyTorch's order: stream, size, address.
template <class Visit>
void for_each_free(BlockPool& pool, Visit visit) {
  for (std::size_t stream = 0; stream < pool.streams(); ++stream) {
    const FreeBlocks& free = pool.free_blocks(static_cast<StreamId>(stream));
    for (auto at = free.begin(); !FreeBlocks::is_end(at); at = free.next(at)) visit(free.at(at));
  }
}

}  // namespace

void CachingAllocator::empty_cache() { release_cached_blocks(); }

/// Everything that can go goes: large pool first, then small. All streams are synchronised before.
void CachingAllocator::release_cached_blocks() {
  ++stats_.num_sync_all_streams;
  process_events();
  release_blocks(large_);
  release_blocks(small_);
}

void CachingAllocator::release_blocks(BlockPool& pool) {
  std::vector<Block*> whole, expandable;
  for_each_free(pool, [&](Block* block) {
    if (block->expandable)
      expandable.push_back(block);
    else if (!block->is_split())
      whole.push_back(block);
  });
  for (Block* block : whole) release_block(block);
  for (Block* block : expandable) {
    unmap_block(block);
    if (!block->mapped && !block->is_split()) release_expandable_segment(block);
  }
}

void CachingAllocator::release_block(Block* block) {
  const AddressRange segment{block->address, block->size};
  block->pool->erase(block);
  driver_.release(segment);
  ++stats_.num_device_free;
  --stats_.segments;
  stats_.reserved_bytes.decrease(segment.size);
  log(SegmentEvent::Kind::segment_free, segment);
  arena_.release(block);
}

/// With max_split_size set: one cached oversize block that would have held the request, else the
/// largest ones until their sum would have; whether enough was given back.
bool CachingAllocator::release_available_cached_blocks(const Request& request) {
  if (config_.max_split_size == kUnlimited) return false;
  const FreeBlocks& free = request.pool.free_blocks(request.stream);
  const Bytes wanted = std::max(request.size, config_.max_split_size);
  const auto enough = free.lower_bound(wanted);
  if (!FreeBlocks::is_end(enough) && !free.at(enough)->expandable) {
    release_block(free.at(enough));
    return true;
  }
  std::vector<Block*> largest;
  Bytes total = 0;
  for (auto at = free.previous(enough); !FreeBlocks::is_end(at) && total < wanted;
       at = free.previous(at)) {
    Block* block = free.at(at);
    if (block->size < config_.max_split_size) break;
    if (block->expandable) continue;
    largest.push_back(block);
    total += block->size;
  }
  for (Block* block : largest) release_block(block);
  return total >= wanted;
}

/// Gives back whole cached segments of the large pool, those of at least average age first, until
/// reserved memory is below the threshold. Age counts the searches of the pool since the block
/// became free.
void CachingAllocator::garbage_collect_cached_blocks() {
  const Bytes allowed = allowed_memory();
  if (allowed == kUnlimited) return;
  const auto limit =
      static_cast<Bytes>(config_.garbage_collection_threshold * static_cast<double>(allowed));
  const Bytes target = reserved() - limit;
  const auto age = [&](const Block* block) {
    return std::int64_t{large_.searches - block->gc_base};
  };
  std::vector<Block*> cached;
  std::int64_t total_age = 0;
  for_each_free(large_, [&](Block* block) {
    if (block->is_split() || block->expandable) return;
    cached.push_back(block);
    total_age += age(block);
  });
  Bytes reclaimed = 0;
  while (reclaimed < target && !cached.empty()) {
    const double average = static_cast<double>(total_age) / static_cast<double>(cached.size());
    std::erase_if(cached, [&](Block* block) {
      if (static_cast<double>(age(block)) < average) return false;
      reclaimed += block->size;
      total_age -= age(block);
      release_block(block);
      return true;
    });
  }
}

}  // namespace memtape
