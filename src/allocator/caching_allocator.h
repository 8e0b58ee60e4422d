// SPDX-License-Identifier: Apache-2.0
// CachingAllocator: PyTorch's native CUDA caching allocator, decision for decision
// (DeviceCachingAllocator in c10/cuda/CUDACachingAllocator.cpp of 2.11). malloc looks for the best
// fitting free block of its stream and pool, else asks the driver for a segment, splits what it
// got, and on failure gives cached segments back and asks again.
//
// Invariants: reserved = sum of segments = allocated + pending + free; a Block* is valid from
// malloc to free. Not modelled: private pools (CUDA graphs, MemPool), callbacks that free memory;
// docs/allocator.md says more.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "allocator/allocator_config.h"
#include "allocator/block.h"
#include "allocator/block_arena.h"
#include "allocator/block_pool.h"
#include "allocator/driver.h"
#include "allocator/segment_event.h"
#include "allocator/statistics.h"

namespace memtape {

/// When a freed block that other streams used becomes free for reuse. On a device it depends on its
/// speed; a host that never runs ahead sees `at_once`, which is the next malloc.
enum class EventCompletion : std::uint8_t { at_once, at_synchronize };

/// The request that failed last.
struct AllocationFailure {
  Bytes requested = 0;
  Bytes segment = 0;  ///< what the driver was asked for
};

/// One segment with its blocks, as torch.cuda.memory_snapshot() reports it; an expandable segment
/// has one for each mapped stretch.
struct SegmentView {
  AddressRange range;
  StreamId stream = 0;
  bool is_small = false;
  bool is_expandable = false;
  std::vector<const Block*> blocks;
};

/// A segment that exists before the first request. `blocks` are its live blocks, ascending; the
/// rest of it is free.
struct InitialSegment {
  AddressRange range;
  StreamId stream = 0;
  bool is_small = false;
  bool is_expandable = false;
  std::vector<AddressRange> blocks;
};

/// Address space of an expandable segment, as far as it is known.
struct ExpandableReservation {
  AddressRange range;
  StreamId stream = 0;
  bool is_small = false;
};

class CachingAllocator {
 public:
  explicit CachingAllocator(Driver& driver, const AllocatorConfig& config = {},
                            EventCompletion completion = EventCompletion::at_once)
      : driver_(driver), config_(config), completion_(completion) {}
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Null for a request of zero bytes, and if the device is full: then `failure` tells which
  /// request failed.
  Block* malloc(Bytes bytes, StreamId stream = 0);
  void free(Block* block);
  /// The block is also used on `stream`: once freed, it waits for that stream.
  void record_stream(Block* block, StreamId stream);
  /// All streams have caught up: blocks that waited for them become free.
  void synchronize();
  /// torch._C._accelerator_setAllocatorSettings: sets other rules from the next request on.
  void set_config(const AllocatorConfig& config) { config_ = config; }
  /// torch.cuda.empty_cache()
  void empty_cache();

  Bytes requested() const { return stats_.requested_bytes.current; }
  Bytes allocated() const { return stats_.allocated_bytes.current; }
  Bytes reserved() const { return stats_.reserved_bytes.current; }
  std::int64_t num_alloc_retries() const { return stats_.num_alloc_retries; }
  const std::optional<AllocationFailure>& failure() const { return failure_; }

  /// Walks over all blocks to count what is not counted as it happens.
  Statistics statistics() const;
  /// By address.
  std::vector<SegmentView> segments() const;

  /// Puts segments into an allocator that is still empty. They are ascending, and their blocks lie
  /// inside them and apart. Returns the `Block*` of the live blocks in the same order.
  std::vector<Block*> adopt(std::span<const InitialSegment> segments,
                            std::span<const ExpandableReservation> reservations = {});
  /// The address space that an expandable segment reserves: 1 1/8 of the device in whole granules.
  static Bytes reservation_size(const DeviceMemory& memory, Bytes granule);

  /// From now on, appends everything that is done to the driver to `log`, which must outlive this;
  /// null stops it.
  void log_segments_to(std::vector<SegmentEvent>* log) { log_ = log; }

 private:
  struct StreamUse {
    Block* block;
    StreamId stream;
  };
  struct Request {
    Bytes size;  ///< rounded
    BlockPool& pool;
    StreamId stream;
  };

  BlockPool& pool_for(Bytes size) { return size <= kSmallSize ? small_ : large_; }
  inline Block* take_free_block(const Request& request);
  inline Block* hand_out(Block* block, const Request& request, Bytes requested);
  Block* get_segment(const Request& request);
  Block* alloc_block(const Request& request, bool is_retry);
  Block* fail(const Request& request, Bytes requested);
  bool over_fraction(Bytes more) const;

  inline void free_block(Block* block);
  /// `block` takes in its neighbour if that is free too.
  void try_merge(Block* block, Block* neighbour) {
    if (neighbour && !neighbour->allocated && neighbour->event_count == 0 &&
        neighbour->mapped == block->mapped)
      merge(block, neighbour);
  }
  void merge(Block* block, Block* neighbour);
  void insert_events(Block* block);
  void process_events();
  void raise_active_peak();

  void release_block(Block* block);
  bool release_available_cached_blocks(const Request& request);
  void release_cached_blocks();
  void release_blocks(BlockPool& pool);
  void garbage_collect_cached_blocks();

  Block* try_allocate_expandable_block(const Request& request);
  Block* find_expandable_block(const Request& request);
  Block* reserve_expandable_segment(const Request& request);
  Block* unmapped_reservation(const Request& request, const AddressRange& range);
  bool map_block(Block* block, Bytes size);
  void unmap_block(Block* block);
  void release_expandable_segment(Block* block);
  void insert_unmapped(Block* block);
  void remove_unmapped(const Block* block);
  FreeBlocks::Cursor skip_growable(const FreeBlocks& free, FreeBlocks::Cursor cursor) const;
  Bytes granule_of(const BlockPool& pool) const {
    return pool.is_small ? kSmallBuffer : config_.large_segment_size;
  }

  AddressRange reservation_around(const InitialSegment& segment,
                                  std::span<const ExpandableReservation> reservations) const;
  Block* adopt_blocks(const InitialSegment& segment, Block* last, std::uint32_t expandable,
                      std::vector<Block*>& live);
  void adopt_expandable(const InitialSegment& segment, const AddressRange& reservation,
                        std::vector<Block*>& live);

  Block* make_block(const Request& request, const AddressRange& range);
  Block* cut_before(Block* block, Address at);
  Block* cut_behind(Block* block, const AddressRange& part);
  void log(SegmentEvent::Kind kind, const AddressRange& range);
  Bytes allowed_memory() const;

  Driver& driver_;
  AllocatorConfig config_;
  const EventCompletion completion_;
  std::uint32_t last_order_ = 0;  ///< given to a block or a segment
  BlockArena arena_;
  BlockPool small_{true}, large_{false};
  Statistics stats_;
  std::vector<Block*> pending_;  ///< freed, but other streams may still use them
  Bytes pending_bytes_ = 0;
  std::vector<StreamUse> stream_uses_;
  std::vector<AddressRange>
      expandable_;  ///< reservations of address space, by Block::expandable - 1
  std::optional<AllocationFailure> failure_;
  std::vector<SegmentEvent>* log_ = nullptr;
};

}  // namespace memtape
