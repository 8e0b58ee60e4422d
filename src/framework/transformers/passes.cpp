// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/passes.h"

#include <memory>

#include "allocator/placement.h"
#include "timeline/play.h"

namespace memtape::transformers {

Passes play_passes(const Tape& tape, const DeviceSetup& device) {
  const std::unique_ptr<Driver> driver = make_driver(device.placement, {});
  CachingAllocator allocator(*driver, device.allocator);
  Played played;
  const Timeline timeline = play(tape, allocator, played, {});
  Passes passes;
  std::size_t peak = 0;
  bool begun = false;
  for (const Window& window : timeline.windows) {
    if (window.mark.step < 0) continue;
    if (!begun) passes.loaded = window.at_start.allocated;
    begun = true;
    if (window.peak.allocated > passes.all.allocated) peak = window.peak_event;
    passes.all.raise_to(window.peak);
    if (window.mark.phase != Phase::forward) continue;
    Levels& of_stage = window.mark.step > 0       ? passes.decode
                       : passes.prefill.allocated ? passes.chunks
                                                  : passes.prefill;
    of_stage.raise_to(window.peak);
  }
  while (peak > 0 && tape.events[peak].kind == EventKind::mark) --peak;
  const Lifetimes lifetimes(tape);
  passes.at_peak = lifetimes.alive_by_category(played.sizes, peak);
  passes.kv_cache =
      lifetimes.alive_by_category(played.sizes, tape.events.size() - 1)[Category::kv_cache];
  return passes;
}

ServeRank rank_of(const Passes& passes, const DeviceSetup& device) {
  ServeRank rank;
  rank.weights_bytes = passes.loaded;
  rank.non_torch_bytes = device.context_bytes();
  rank.at_peak = passes.at_peak;
  rank.activation_peak_bytes =
      passes.all.allocated - passes.loaded - rank.at_peak[Category::kv_cache];
  rank.at_peak[Category::context] = rank.non_torch_bytes;
  rank.at_peak[Category::unknown] += passes.all.reserved - passes.all.allocated;
  rank.peak = passes.all;
  rank.peak_device_bytes = passes.all.reserved + rank.non_torch_bytes;
  return rank;
}

}  // namespace memtape::transformers
