// SPDX-License-Identifier: Apache-2.0
#include "predict/step_play.h"

#include <algorithm>

namespace memtape {
namespace {

void raise(Levels& highest, const Timeline& timeline) {
  for (const Window& window : timeline.windows) highest.raise_to(window.peak);
}

}  // namespace

std::size_t first_event_of_step(const Tape& tape, int step) {
  for (std::size_t at = 0; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind == EventKind::mark && tape.marks[event.block].step == step) return at;
  }
  return tape.events.size();
}

StepPlay play_program(const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                      int step, bool records) {
  StepPlay result;
  result.first_event = first_event_of_step(tape, step);
  const std::unique_ptr<Driver> driver = make_driver(device.placement, memory);
  CachingAllocator allocator(*driver, device.allocator);
  result.before =
      play(tape, allocator, result.played, {.to = result.first_event, .segments = records});
  if (!result.before.out_of_memory)
    result.step = play(tape, allocator, result.played,
                       {.from = result.first_event, .samples = records, .segments = records});
  raise(result.highest, result.before);
  raise(result.highest, result.step);
  return result;
}

}  // namespace memtape
