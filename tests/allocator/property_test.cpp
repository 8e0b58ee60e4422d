// SPDX-License-Identifier: Apache-2.0
// Random programs: the replica takes the naive allocator's every decision, and keeps its books.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "allocator/caching_allocator.h"
#include "naive_allocator.h"

namespace memtape {
namespace {

struct Step {
  enum class Kind { alloc, free, empty_cache } kind;
  Bytes bytes;
  StreamId stream;
  std::size_t which;  ///< of the live blocks, modulo their number
};

rc::Gen<Bytes> sizes() {
  return rc::gen::weightedOneOf<Bytes>({
      {4, rc::gen::inRange<Bytes>(1, 5000)},
      {2, rc::gen::inRange<Bytes>(1, 1 << 20)},
      {2, rc::gen::element<Bytes>(512, 4096, 1 << 20, (1 << 20) + 1, 8519680, 10 << 20,
                                  (10 << 20) - 512, 12 << 20)},
      {2, rc::gen::inRange<Bytes>(1 << 20, 30 << 20)},
      {1, rc::gen::inRange<Bytes>(30 << 20, 200 << 20)},
  });
}

rc::Gen<std::vector<Step>> programs() {
  using Kind = Step::Kind;
  const auto step = rc::gen::construct<Step>(
      rc::gen::weightedElement<Kind>({{30, Kind::alloc}, {28, Kind::free}, {1, Kind::empty_cache}}),
      sizes(), rc::gen::weightedElement<StreamId>({{6, 0}, {1, 1}, {1, 7}}),
      rc::gen::inRange<std::size_t>(0, 1 << 20));
  return rc::gen::scale(8, rc::gen::container<std::vector<Step>>(step));
}

/// Live blocks touch nobody else's bytes and lie inside a segment; levels are the sums of what is
/// listed.
void check_books(const CachingAllocator& allocator) {
  Bytes reserved = 0, allocated = 0, requested = 0;
  Address end = 0;
  for (const SegmentView& segment : allocator.segments()) {
    RC_ASSERT(segment.range.address >= end);
    Address at = segment.range.address;
    bool was_free = false;
    for (const Block* block : segment.blocks) {
      RC_ASSERT(block->address == at);
      RC_ASSERT(block->size > 0 && block->size % kMinBlockSize == 0);
      RC_ASSERT(block->allocated || !was_free);
      was_free = !block->allocated;
      at += block->size;
      allocated += block->allocated ? block->size : 0;
      requested += block->allocated ? block->requested : 0;
    }
    end = segment.range.end();
    RC_ASSERT(at == end);
    reserved += segment.range.size;
  }
  RC_ASSERT(reserved == allocator.reserved());
  RC_ASSERT(allocated == allocator.allocated());
  RC_ASSERT(requested == allocator.requested());
  RC_ASSERT(requested <= allocated && allocated <= reserved);
}

/// Plays the program on both, then frees everything.
void compare_with_naive(DriverPlacement placement, const DeviceMemory& memory) {
  const auto program = *programs();
  const auto driver = make_driver(placement, memory), naive_driver = make_driver(placement, memory);
  CachingAllocator allocator(*driver);
  testing::NaiveAllocator naive(*naive_driver);
  std::vector<Block*> live;
  const auto free_at = [&](std::size_t i) {
    naive.free(live[i]->address);
    allocator.free(live[i]);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (const Step& step : program) {
    if (step.kind == Step::Kind::alloc) {
      Block* block = allocator.malloc(step.bytes, step.stream);
      const auto address = naive.malloc(step.bytes, step.stream);
      RC_ASSERT((block != nullptr) == address.has_value());
      if (!block) continue;
      RC_ASSERT(block->address == *address);
      live.push_back(block);
    } else if (step.kind == Step::Kind::free && !live.empty()) {
      free_at(step.which % live.size());
    } else if (step.kind == Step::Kind::empty_cache) {
      allocator.empty_cache();
      naive.empty_cache();
    }
    RC_ASSERT(allocator.reserved() == naive.reserved());
    RC_ASSERT(allocator.allocated() == naive.allocated());
  }
  check_books(allocator);
  RC_ASSERT(allocator.num_alloc_retries() == naive.retries);
  RC_ASSERT(allocator.statistics().inactive_split_bytes == naive.inactive_split());
  while (!live.empty()) free_at(live.size() - 1);
  RC_ASSERT(allocator.allocated() == 0 && allocator.requested() == 0);
  allocator.empty_cache();
  RC_ASSERT(allocator.reserved() == 0 && driver->used() == 0);
}

RC_GTEST_PROP(CachingAllocator, DecidesAsTheNaiveOneWithLinuxPlacement, ()) {
  compare_with_naive(DriverPlacement::linux_regions, {});
}

RC_GTEST_PROP(CachingAllocator, DecidesAsTheNaiveOneWithFirstFitPlacement, ()) {
  compare_with_naive(DriverPlacement::first_fit, {});
}

RC_GTEST_PROP(CachingAllocator, DecidesAsTheNaiveOneOnADeviceThatRunsFull, ()) {
  compare_with_naive(DriverPlacement::linux_regions, {.total = 600_MiB, .outside = 100_MiB});
}

/// No second implementation here: expandable segments and options against the books alone.
void keeps_its_books(const AllocatorConfig& config) {
  const auto program = *programs();
  const auto driver = make_driver(DriverPlacement::linux_regions, {.total = 800_MiB, .outside = 0});
  CachingAllocator allocator(*driver, config);
  std::vector<Block*> live;
  for (const Step& step : program) {
    if (step.kind == Step::Kind::alloc) {
      Block* block = allocator.malloc(step.bytes, step.stream);
      if (!block) continue;
      RC_ASSERT(block->size >= step.bytes);
      live.push_back(block);
      if (step.which % 5 == 0)
        allocator.record_stream(block, static_cast<StreamId>(step.which % 3));
    } else if (step.kind == Step::Kind::free && !live.empty()) {
      const std::size_t i = step.which % live.size();
      allocator.free(live[i]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (step.kind == Step::Kind::empty_cache) {
      allocator.empty_cache();
    }
    RC_ASSERT(allocator.reserved() <= 800_MiB);
  }
  allocator.synchronize();
  check_books(allocator);
  for (Block* block : live) allocator.free(block);
  allocator.empty_cache();
  RC_ASSERT(allocator.requested() == 0 && allocator.allocated() == 0);
  RC_ASSERT(allocator.reserved() == 0 && driver->used() == 0);
}

AllocatorConfig config_of(std::string_view text) { return *AllocatorConfig::parse(text); }

RC_GTEST_PROP(CachingAllocator, KeepsItsBooksWithExpandableSegments, ()) {
  keeps_its_books(config_of("expandable_segments:True"));
}

RC_GTEST_PROP(CachingAllocator, KeepsItsBooksWithEveryOtherOption, ()) {
  keeps_its_books(config_of(
      "max_split_size_mb:40,roundup_power2_divisions:[1:4,32:2],per_process_memory_fraction:0.9,"
      "garbage_collection_threshold:0.5"));
}

}  // namespace
}  // namespace memtape
