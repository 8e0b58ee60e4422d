// SPDX-License-Identifier: Apache-2.0
#include "evidence/what_if.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace memtape {
namespace {

constexpr std::array<std::string_view, 4> kSettings{
    "expandable_segments:True", "max_split_size_mb:512", "max_split_size_mb:128",
    "garbage_collection_threshold:0.8"};

class Rerun {
 public:
  Rerun(const Recording& recording, const AllocatorConfig& config, Bytes limit)
      : recording_(recording),
        driver_(make_driver(DriverPlacement::linux_regions, {.total = limit})),
        allocator_(*driver_, config) {}

  WhatIf run(const Held& held) {
    std::vector<const BlockLife*> older;
    for (const BlockLife& life : held.lives)
      if (life.is_older) older.push_back(&life);
    std::ranges::stable_sort(older, {}, &BlockLife::address);
    for (const BlockLife* life : older) alloc(life->address, life->requested, life->stream);
    for (const RecordedEvent& event : recording_.trace.events) {
      if (failed_) break;
      step(event);
    }
    const Statistics statistics = allocator_.statistics();
    answer_.peak = {statistics.requested_bytes.peak, statistics.allocated_bytes.peak,
                    statistics.reserved_bytes.peak};
    answer_.retries = allocator_.num_alloc_retries();
    if (failed_) answer_.serves = false;
    return answer_;
  }

 private:
  void step(const RecordedEvent& event) {
    if (event.action == TraceAction::alloc) {
      emptied_ = false;
      alloc(event.address, event.size, event.stream);
    } else if (event.action == TraceAction::free_completed) {
      const auto found = live_.find(event.address);
      if (found == live_.end()) return;
      allocator_.free(found->second);
      live_.erase(found);
    } else if (event.action == TraceAction::oom) {
      Block* block = allocator_.malloc(event.size, event.stream);
      answer_.serves = block != nullptr;
      failed_ = block == nullptr;
      if (block) allocator_.free(block);
    } else if (event.action == TraceAction::segment_free ||
               event.action == TraceAction::segment_unmap) {
      if (!emptied_) allocator_.empty_cache();
      emptied_ = true;
    }
  }

  void alloc(Address address, Bytes size, StreamId stream) {
    Block* block = allocator_.malloc(size, stream);
    if (block)
      live_[address] = block;
    else
      failed_ = true;
  }

  const Recording& recording_;
  std::unique_ptr<Driver> driver_;
  CachingAllocator allocator_;
  std::unordered_map<Address, Block*> live_;
  bool failed_ = false, emptied_ = false;
  WhatIf answer_;
};

}  // namespace

std::vector<WhatIf> what_if(const Recording& recording, const Held& held, Bytes limit) {
  std::vector<WhatIf> all{Rerun(recording, recording.trace.config, limit).run(held)};
  for (const std::string_view setting : kSettings) {
    if (recording.trace.config.expandable_segments && setting.starts_with("expandable")) continue;
    Result<AllocatorConfig> config = AllocatorConfig::parse(setting);
    if (!config) continue;
    config->equal_blocks = recording.trace.config.equal_blocks;
    WhatIf answer = Rerun(recording, *config, limit).run(held);
    answer.setting = setting;
    all.push_back(std::move(answer));
  }
  return all;
}

}  // namespace memtape
