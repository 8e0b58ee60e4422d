// SPDX-License-Identifier: Apache-2.0
// RecordedDriver: the driver of a recording. It returns the addresses that the recorded driver
// returned and refuses what that one refused: if the recording does not continue with a segment,
// the device was full.
#pragma once

#include <span>
#include <vector>

#include "allocator/address_ranges.h"
#include "allocator/driver.h"
#include "allocator/recorded_trace.h"

namespace memtape {

class RecordedDriver final : public Driver {
 public:
  /// The allocator above writes what it does to `log`, whose length tells how many of the expected
  /// events have happened.
  explicit RecordedDriver(const std::vector<SegmentEvent>& log) : log_(log) {}

  /// Sets the segment events that the next call of the allocator should cause, and empties the log.
  void expect(std::span<const RecordedEvent> events) { expected_ = events; }

  std::optional<Address> reserve(Bytes) override { return address_if(TraceAction::segment_map); }
  void unreserve(const AddressRange&) override {}

 private:
  std::optional<Address> address_if(TraceAction action) const {
    if (log_.size() >= expected_.size() || expected_[log_.size()].action != action)
      return std::nullopt;
    return expected_[log_.size()].address;
  }
  /// A faulty recording may return the same memory twice; that is refused, too.
  bool take(const AddressRange& range) {
    if (taken_.overlaps(range)) return false;
    taken_.insert(range, kEverywhere);
    return true;
  }

  std::optional<Address> place(Bytes size) override {
    const auto address = address_if(TraceAction::segment_alloc);
    return address && take({*address, size}) ? address : std::nullopt;
  }
  void give_back(const AddressRange& segment) override { taken_.remove(segment); }
  bool may_map(const AddressRange& range) override {
    return address_if(TraceAction::segment_map) && take(range);
  }
  void unmapped(const AddressRange& range) override { taken_.remove(range); }
  void occupy(std::span<const AddressRange> segments) override {
    for (const AddressRange& segment : segments) taken_.insert(segment, kEverywhere);
  }

  static constexpr AddressRange kEverywhere{0, Bytes{1} << 62};

  const std::vector<SegmentEvent>& log_;
  std::span<const RecordedEvent> expected_;
  AddressRanges taken_;
};

}  // namespace memtape
