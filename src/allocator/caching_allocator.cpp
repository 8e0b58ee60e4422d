// SPDX-License-Identifier: Apache-2.0
#include "allocator/caching_allocator.h"

#include <algorithm>
#include <utility>

namespace memtape {
namespace {

constexpr Bytes kAddressable =
    Bytes{1} << 47;  ///< more than any device: such a request fails without asking

}  // namespace

Block* CachingAllocator::malloc(Bytes bytes, StreamId stream) {
  if (bytes <= 0) return nullptr;
  if (!pending_.empty() && completion_ == EventCompletion::at_once) process_events();
  const Bytes size = bytes < kAddressable ? config_.round_size(bytes) : kAddressable;
  const Request request{size, pool_for(size), stream};
  Block* block = take_free_block(request);
  if (!block && !(block = get_segment(request))) return fail(request, bytes);
  return hand_out(block, request, bytes);
}

/// The smallest free block that holds the request, unless splitting rules forbid it
/// (get_free_block).
Block* CachingAllocator::take_free_block(const Request& request) {
  ++request.pool.searches;
  FreeBlocks& free = request.pool.free_blocks(request.stream);
  FreeBlocks::Cursor best = free.lower_bound(request.size);
  if (FreeBlocks::is_end(best)) return nullptr;
  if (!expandable_.empty()) [[unlikely]]
    best = skip_growable(free, best);
  Block* block = free.at(best);
  if (config_.max_split_size != kUnlimited) [[unlikely]] {
    const bool oversize = request.size >= config_.max_split_size;
    if (!oversize && block->size >= config_.max_split_size) return nullptr;
    if (oversize && block->size >= request.size + config_.max_non_split_rounding_size)
      return nullptr;
  }
  free.erase(best);
  return block;
}

/// Marks the block as the program's, cut to size where that is allowed (alloc_found_block).
Block* CachingAllocator::hand_out(Block* block, const Request& request, Bytes requested) {
  const Bytes remaining = block->size - request.size;
  if (remaining > 0 && config_.should_split(request.pool.is_small, request.size, remaining)) {
    Block* rest = block;
    block = cut_before(rest, rest->address + request.size);
    request.pool.insert(rest);
  }
  block->allocated = true;
  block->requested = requested;
  stats_.requested_bytes.increase(requested);
  stats_.allocated_bytes.increase(block->size);
  if (pending_bytes_ > 0) [[unlikely]]
    raise_active_peak();
  return block;
}

/// A block for the part of `block` below `at`, which `block` no longer holds. Neither is in a pool.
Block* CachingAllocator::cut_before(Block* block, Address at) {
  Block* low = arena_.make();
  *low = *block;
  if (config_.equal_blocks == EqualBlocks::oldest_block) low->order = ++last_order_;
  low->size = at - block->address;
  low->next = block;
  if (low->prev) low->prev->next = low;
  block->prev = low;
  block->address = at;
  block->size -= low->size;
  return low;
}

/// Nothing cached fits: a new segment, if need be after giving cached ones back.
Block* CachingAllocator::get_segment(const Request& request) {
  if (config_.per_process_memory_fraction && config_.garbage_collection_threshold > 0)
    garbage_collect_cached_blocks();
  Block* block = alloc_block(request, false);
  if (!block && release_available_cached_blocks(request)) block = alloc_block(request, false);
  if (block) return block;
  release_cached_blocks();
  return alloc_block(request, true);
}

Block* CachingAllocator::alloc_block(const Request& request, bool is_retry) {
  const Bytes size = config_.allocation_size(request.size);
  if (is_retry) ++stats_.num_alloc_retries;
  if (over_fraction(size)) return nullptr;
  if (config_.expandable_segments) return try_allocate_expandable_block(request);
  const auto address = driver_.allocate(size);
  if (!address) return nullptr;
  ++stats_.num_device_alloc;
  ++stats_.segments;
  stats_.reserved_bytes.increase(size);
  log(SegmentEvent::Kind::segment_alloc, {*address, size});
  return make_block(request, {*address, size});
}

Block* CachingAllocator::make_block(const Request& request, const AddressRange& range) {
  Block* block = arena_.make();
  block->address = range.address;
  block->size = range.size;
  block->pool = &request.pool;
  block->stream = request.stream;
  if (config_.equal_blocks != EqualBlocks::lowest_address) block->order = ++last_order_;
  return block;
}

Block* CachingAllocator::fail(const Request& request, Bytes requested) {
  ++stats_.num_ooms;
  failure_ = {requested, config_.allocation_size(request.size)};
  return nullptr;
}

Bytes CachingAllocator::allowed_memory() const {
  const Bytes total = driver_.memory().total;
  if (!config_.per_process_memory_fraction || total == kUnlimited) return kUnlimited;
  return static_cast<Bytes>(*config_.per_process_memory_fraction * static_cast<double>(total));
}

bool CachingAllocator::over_fraction(Bytes more) const {
  return more > allowed_memory() - reserved();
}

void CachingAllocator::free(Block* block) {
  block->allocated = false;
  stats_.allocated_bytes.decrease(block->size);
  if (block->has_stream_uses) [[unlikely]]
    insert_events(block);
  else
    free_block(block);
}

void CachingAllocator::free_block(Block* block) {
  stats_.requested_bytes.decrease(block->requested);
  try_merge(block, block->prev);
  try_merge(block, block->next);
  block->pool->insert(block);
}

void CachingAllocator::merge(Block* block, Block* neighbour) {
  if (neighbour->mapped)
    block->pool->erase(neighbour);
  else
    remove_unmapped(neighbour);
  if (neighbour == block->prev) {
    block->address = neighbour->address;
    block->prev = neighbour->prev;
    if (block->prev) block->prev->next = block;
  } else {
    block->next = neighbour->next;
    if (block->next) block->next->prev = block;
  }
  block->size += neighbour->size;
  arena_.release(neighbour);
}

void CachingAllocator::record_stream(Block* block, StreamId stream) {
  if (stream == block->stream) return;
  const bool known =
      std::any_of(stream_uses_.begin(), stream_uses_.end(),
                  [&](const StreamUse& use) { return use.block == block && use.stream == stream; });
  if (known) return;
  stream_uses_.push_back({block, stream});
  block->has_stream_uses = true;
}

/// One event for each stream that used the block: it stays active until all are over.
void CachingAllocator::insert_events(Block* block) {
  const auto uses =
      std::erase_if(stream_uses_, [&](const StreamUse& use) { return use.block == block; });
  block->event_count = static_cast<std::uint16_t>(uses);
  block->has_stream_uses = false;
  pending_.push_back(block);
  pending_bytes_ += block->size;
}

void CachingAllocator::process_events() {
  for (Block* block : std::exchange(pending_, {})) {
    block->event_count = 0;
    pending_bytes_ -= block->size;
    free_block(block);
  }
}

/// Active bytes are the allocated ones and those that wait for other streams.
void CachingAllocator::raise_active_peak() {
  stats_.active_bytes.peak = std::max(stats_.active_bytes.peak, allocated() + pending_bytes_);
}

void CachingAllocator::synchronize() { process_events(); }

void CachingAllocator::log(SegmentEvent::Kind kind, const AddressRange& range) {
  if (log_) log_->push_back({kind, range});
}

}  // namespace memtape
