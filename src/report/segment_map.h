// SPDX-License-Identifier: Apache-2.0
// SegmentMap: the address ranges that the allocator holds from the driver, updated by
// SegmentChanges. Mapped ranges of expandable segments join where they touch, and can be given back
// in parts.
#pragma once

#include <cstdint>
#include <map>

#include "outcome/prediction.h"

namespace memtape::report {

struct Segment {
  Bytes size = 0;
  StreamId stream = 0;
  bool small_pool = false, expandable = false;
};

class SegmentMap {
 public:
  void apply(const SegmentChange& change);

  /// The segments by address.
  const std::map<std::int64_t, Segment>& segments() const { return segments_; }

 private:
  void take(const SegmentChange& change);
  void give_back(std::int64_t address, Bytes size);

  std::map<std::int64_t, Segment> segments_;
};

}  // namespace memtape::report
