// SPDX-License-Identifier: Apache-2.0
// RecordedDriver: the driver of a recording. It gives the addresses that the recorded driver gave,
// and refuses what that one refused: when the recording does not go on with a segment, the device
// was full.
#pragma once

#include <span>
#include <vector>

#include "allocator/driver.h"
#include "allocator/recorded_trace.h"

namespace memtape {

class RecordedDriver final : public Driver {
 public:
  /// `log` is where the allocator above writes what it does: so many of the expected events have
  /// happened.
  explicit RecordedDriver(const std::vector<SegmentEvent>& log) : log_(log) {}

  /// The segment events that the next call of the allocator should cause; the log starts empty with
  /// them.
  void expect(std::span<const RecordedEvent> events) { expected_ = events; }

  std::optional<Address> reserve(Bytes) override { return address_if(TraceAction::segment_map); }
  void unreserve(const AddressRange&) override {}

 private:
  std::optional<Address> address_if(TraceAction action) const {
    if (log_.size() >= expected_.size() || expected_[log_.size()].action != action)
      return std::nullopt;
    return expected_[log_.size()].address;
  }

  std::optional<Address> place(Bytes) override { return address_if(TraceAction::segment_alloc); }
  void give_back(const AddressRange&) override {}
  bool may_map(const AddressRange&) override {
    return address_if(TraceAction::segment_map).has_value();
  }
  void occupy(std::span<const AddressRange>) override {}

  const std::vector<SegmentEvent>& log_;
  std::span<const RecordedEvent> expected_;
};

}  // namespace memtape
