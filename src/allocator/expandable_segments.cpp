// SPDX-License-Identifier: Apache-2.0
// Expandable segments: one reservation of address space for each pool and stream, into which memory
// is mapped granule by granule (2 MiB in the small pool, large_segment_size in the large one) as it
// is needed.
//
//     mapped [ allocated ][ free ][ allocated ][ free |  unmapped ............................. ]
//                                               ^ grows here: the free tail and what follows it
#include <algorithm>

#include "allocator/caching_allocator.h"

namespace memtape {
namespace {

constexpr Bytes kReservationWithoutLimit = Bytes{1} << 40;

bool precedes(const Block* a, const Block* b) {
  return a->stream != b->stream ? a->stream < b->stream : a->address < b->address;
}

bool is_available(const Block* block) {
  return block && !block->allocated && block->event_count == 0;
}

/// Whether `block` and what follows it, free or unmapped, hold `size` bytes.
bool has_room(const Block* block, Bytes size) {
  for (; size > 0 && is_available(block); block = block->next) size -= block->size;
  return size <= 0;
}

/// What best fit takes a free block for: its size and the unmapped space it can grow into.
Bytes expandable_size(const Block* block) {
  const Block* next = block->next;
  return block->size + (next && !next->mapped ? next->size : 0);
}

}  // namespace

/// Best fit prefers a block inside the segment to the tail that can grow, even if the tail is the
/// smaller block.
FreeBlocks::Cursor CachingAllocator::skip_growable(const FreeBlocks& free,
                                                   FreeBlocks::Cursor cursor) const {
  for (auto next = free.next(cursor); !FreeBlocks::is_end(next) && free.at(cursor)->expandable;
       next = free.next(next)) {
    if (expandable_size(free.at(next)) >= expandable_size(free.at(cursor))) break;
    cursor = next;
  }
  return cursor;
}

/// A block of at least the requested size, in no pool, or null when memory could not be mapped.
Block* CachingAllocator::try_allocate_expandable_block(const Request& request) {
  Block* block = find_expandable_block(request);
  if (!block || (!block->mapped && !map_block(block, std::min(block->size, request.size))))
    return nullptr;
  while (block->size < request.size) {
    Block* next = block->next;  // unmapped: two free mapped blocks never stand side by side
    if (!map_block(next, std::min(request.size - block->size, next->size))) return nullptr;
    block = next;
  }
  request.pool.erase(block);
  return block;
}

/// The lowest place where free and unmapped blocks in a row hold the request, else a new
/// reservation.
Block* CachingAllocator::find_expandable_block(const Request& request) {
  for (Block* block : request.pool.unmapped) {
    if (block->stream != request.stream) continue;
    Block* first = is_available(block->prev) ? block->prev : block;
    if (has_room(first, request.size)) return first;
  }
  return reserve_expandable_segment(request);
}

Bytes CachingAllocator::reservation_size(const DeviceMemory& memory, Bytes granule) {
  const Bytes wanted =
      memory.total == kUnlimited ? kReservationWithoutLimit : memory.total + memory.total / 8;
  return round_up(wanted, granule);
}

Block* CachingAllocator::reserve_expandable_segment(const Request& request) {
  const Bytes granule = granule_of(request.pool);
  const Bytes size =
      std::max(reservation_size(driver_.memory(), granule), round_up(request.size, granule));
  const auto address = driver_.reserve(size);
  return address ? unmapped_reservation(request, {*address, size}) : nullptr;
}

Block* CachingAllocator::unmapped_reservation(const Request& request, const AddressRange& range) {
  expandable_.push_back(range);
  Block* block = make_block(request, range);
  block->expandable = static_cast<std::uint16_t>(expandable_.size());
  block->mapped = false;
  insert_unmapped(block);
  return block;
}

void CachingAllocator::insert_unmapped(Block* block) {
  std::vector<Block*>& unmapped = block->pool->unmapped;
  unmapped.insert(std::lower_bound(unmapped.begin(), unmapped.end(), block, precedes), block);
}

void CachingAllocator::remove_unmapped(const Block* block) {
  std::erase(block->pool->unmapped, block);
}

/// Maps the granules that cover the first `size` bytes of an unmapped block, which then joins its
/// free neighbours.
bool CachingAllocator::map_block(Block* block, Bytes size) {
  const Bytes granules = round_up(size, granule_of(*block->pool));
  const AddressRange range{block->address, std::min(granules, block->size)};
  if (!driver_.map(range)) return false;
  remove_unmapped(block);
  if (range.size < block->size) {
    insert_unmapped(cut_behind(block, {range.end(), block->size - range.size}));
    block->size = range.size;
  }
  block->mapped = true;
  try_merge(block, block->prev);
  try_merge(block, block->next);
  block->pool->insert(block);
  ++stats_.num_device_alloc;
  stats_.reserved_bytes.increase(range.size);
  log(SegmentEvent::Kind::segment_map, range);
  return true;
}

/// Takes the memory out of the granules that lie wholly inside a free block; what is left at either
/// end stays free.
void CachingAllocator::unmap_block(Block* block) {
  const Bytes granule = granule_of(*block->pool);
  const Address base = expandable_[block->expandable - 1].address;
  const Address end = block->address + block->size;
  const Address low = base + round_up(block->address - base, granule);
  const AddressRange range{low, (end - base) / granule * granule - (low - base)};
  if (range.size <= 0) return;
  block->pool->erase(block);
  if (block->address < range.address) block->pool->insert(cut_before(block, range.address));
  if (range.end() < end) block->pool->insert(cut_behind(block, {range.end(), end - range.end()}));
  block->size = range.size;
  block->mapped = false;
  try_merge(block, block->prev);
  try_merge(block, block->next);
  insert_unmapped(block);
  driver_.unmap(range);
  ++stats_.num_device_free;
  stats_.reserved_bytes.decrease(range.size);
  log(SegmentEvent::Kind::segment_unmap, range);
}

/// A block like `block` between it and its next, for the part of it that the caller takes away.
Block* CachingAllocator::cut_behind(Block* block, const AddressRange& part) {
  Block* behind = arena_.make();
  *behind = *block;
  behind->address = part.address;
  behind->size = part.size;
  behind->prev = block;
  if (behind->next) behind->next->prev = behind;
  block->next = behind;
  return behind;
}

/// Only when the last granule is gone: address space is given back with it.
void CachingAllocator::release_expandable_segment(Block* block) {
  driver_.unreserve(expandable_[block->expandable - 1]);
  remove_unmapped(block);
  arena_.release(block);
}

}  // namespace memtape
