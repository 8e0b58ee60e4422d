// SPDX-License-Identifier: Apache-2.0
// NaiveAllocator: the rules of the caching allocator once more, written for the eye: one list of
// blocks per segment, and every decision a walk over all of them. What the fast one does must equal
// it.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "allocator/driver.h"

namespace memtape::testing {

class NaiveAllocator {
 public:
  explicit NaiveAllocator(Driver& driver) : driver_(driver) {}

  std::optional<Address> malloc(Bytes bytes, StreamId stream) {
    const Bytes size = std::max<Bytes>(512, (bytes + 511) / 512 * 512);
    const bool small = size <= (1 << 20);
    auto found = best_fit(size, small, stream);
    if (!found) {
      const Bytes segment = small               ? 2 << 20
                            : size < (10 << 20) ? 20 << 20
                                                : (size + (2 << 20) - 1) / (2 << 20) * (2 << 20);
      auto address = driver_.allocate(segment);
      if (!address) {
        empty_cache();
        ++retries;
        address = driver_.allocate(segment);
      }
      if (!address) return std::nullopt;
      segments_.push_back({small, stream, segment, {{*address, segment, false}}});
      found = {std::prev(segments_.end()), segments_.back().blocks.begin()};
    }
    auto [segment, block] = *found;
    const Bytes rest = block->size - size;
    if (small ? rest >= 512 : rest > (1 << 20)) {
      segment->blocks.insert(std::next(block), {block->address + size, rest, false});
      block->size = size;
    }
    block->allocated = true;
    return block->address;
  }

  void free(Address address) {
    for (Segment& segment : segments_)
      for (auto block = segment.blocks.begin(); block != segment.blocks.end(); ++block) {
        if (block->address != address || !block->allocated) continue;
        block->allocated = false;
        merge(segment, block);
        return;
      }
  }

  void empty_cache() {
    std::vector<std::tuple<bool, StreamId, Bytes, Address>> whole;
    for (const Segment& segment : segments_)
      if (segment.blocks.size() == 1 && !segment.blocks.front().allocated)
        whole.emplace_back(segment.small, segment.stream, segment.size,
                           segment.blocks.front().address);
    std::sort(whole.begin(), whole.end());
    for (const auto& [small, stream, size, address] : whole) driver_.release({address, size});
    segments_.remove_if(
        [](const Segment& s) { return s.blocks.size() == 1 && !s.blocks.front().allocated; });
  }

  Bytes allocated() const {
    Bytes sum = 0;
    for (const Segment& segment : segments_)
      for (const Piece& block : segment.blocks) sum += block.allocated ? block.size : 0;
    return sum;
  }
  Bytes reserved() const {
    Bytes sum = 0;
    for (const Segment& segment : segments_) sum += segment.size;
    return sum;
  }
  Bytes inactive_split() const {
    Bytes sum = 0;
    for (const Segment& segment : segments_)
      for (const Piece& block : segment.blocks)
        sum += !block.allocated && segment.blocks.size() > 1 ? block.size : 0;
    return sum;
  }

  int retries = 0;

 private:
  struct Piece {
    Address address;
    Bytes size;
    bool allocated;
  };
  struct Segment {
    bool small;
    StreamId stream;
    Bytes size;
    std::list<Piece> blocks;
  };
  using Place = std::pair<std::list<Segment>::iterator, std::list<Piece>::iterator>;

  std::optional<Place> best_fit(Bytes size, bool small, StreamId stream) {
    std::optional<Place> best;
    for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
      if (segment->small != small || segment->stream != stream) continue;
      for (auto block = segment->blocks.begin(); block != segment->blocks.end(); ++block) {
        if (block->allocated || block->size < size) continue;
        if (!best || std::pair(block->size, block->address) <
                         std::pair(best->second->size, best->second->address))
          best = Place{segment, block};
      }
    }
    return best;
  }

  static void merge(Segment& segment, std::list<Piece>::iterator block) {
    if (const auto next = std::next(block); next != segment.blocks.end() && !next->allocated) {
      block->size += next->size;
      segment.blocks.erase(next);
    }
    if (block == segment.blocks.begin()) return;
    if (const auto previous = std::prev(block); !previous->allocated) {
      previous->size += block->size;
      segment.blocks.erase(block);
    }
  }

  Driver& driver_;
  std::list<Segment> segments_;
};

}  // namespace memtape::testing
