// SPDX-License-Identifier: Apache-2.0
#include "report/segment_map.h"

#include <iterator>

namespace memtape::report {
namespace {

bool grow_together(const Segment& a, const Segment& b) {
  return a.expandable && b.expandable && a.stream == b.stream && a.small_pool == b.small_pool;
}

}  // namespace

void SegmentMap::apply(const SegmentChange& change) {
  change.taken ? take(change) : give_back(change.address, change.size);
}

void SegmentMap::take(const SegmentChange& change) {
  auto at = segments_
                .insert_or_assign(change.address, Segment{change.size, change.stream,
                                                          change.small_pool, change.expandable})
                .first;
  const auto next = std::next(at);
  if (next != segments_.end() && at->first + at->second.size == next->first &&
      grow_together(at->second, next->second)) {
    at->second.size += next->second.size;
    segments_.erase(next);
  }
  if (at == segments_.begin()) return;
  const auto before = std::prev(at);
  if (before->first + before->second.size != at->first ||
      !grow_together(before->second, at->second))
    return;
  before->second.size += at->second.size;
  segments_.erase(at);
}

void SegmentMap::give_back(std::int64_t address, Bytes size) {
  auto at = segments_.upper_bound(address);
  if (at == segments_.begin()) return;
  --at;
  const auto [start, whole] = *at;
  const std::int64_t end = start + whole.size;
  if (address + size > end) return;
  segments_.erase(at);
  const auto keep = [this, &like = whole](std::int64_t from, std::int64_t to) {
    if (from >= to) return;
    Segment part = like;
    part.size = to - from;
    segments_.emplace(from, part);
  };
  keep(start, address);
  keep(address + size, end);
}

}  // namespace memtape::report
