// SPDX-License-Identifier: Apache-2.0
#include "predict/verdict.h"

#include <algorithm>
#include <utility>

namespace memtape {
namespace {

/// The mark in force at an event.
Mark mark_at(const Tape& tape, std::size_t event) {
  for (std::size_t at = event + 1; at-- > 0;)
    if (tape.events[at].kind == EventKind::mark) return tape.marks[tape.events[at].block];
  return {};
}

Failure failure_of(const Tape& tape, const OutOfMemory& out) {
  const Why why = tape.why[out.block];
  const Mark mark = mark_at(tape, out.event);
  Failure failure{.step = mark.step,
                  .phase = mark.phase,
                  .module = tape.scopes.path(why.scope),
                  .op = why.op,
                  .shape = {},
                  .dtype = std::string(name(why.dtype)),
                  .requested = out.requested,
                  .segment = out.segment,
                  .levels = out.levels};
  for (std::uint8_t i = 0; i < why.shape.rank; ++i) failure.shape.push_back(why.shape.dims[i]);
  return failure;
}

}  // namespace

Verdict verdict(const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                const StepPlay& unlimited, int step) {
  Verdict result;
  result.headroom_bytes = memory.total - memory.outside - unlimited.highest.reserved;
  if (result.headroom_bytes >= 0) return result;
  const StepPlay limited = play_program(tape, device, memory, step, false);
  const auto& out =
      limited.before.out_of_memory ? limited.before.out_of_memory : limited.step.out_of_memory;
  result.fits = !out;
  if (out) {
    result.failure = failure_of(tape, *out);
    return result;
  }
  result.gives_back = true;
  result.headroom_bytes = memory.total - memory.outside - limited.highest.reserved;
  return result;
}

VerdictWord fit_within(const Bounds& bounds, Bytes peak_device, const Verdict& found,
                       const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                       int step) {
  const Bytes more = bounds.high_bytes - peak_device, less = peak_device - bounds.low_bytes;
  const auto fits_in = [&](Bytes total) {
    const StepPlay play = play_program(
        tape, device, {.total = std::max<Bytes>(total, 0), .outside = memory.outside}, step, false);
    return !play.before.out_of_memory && !play.step.out_of_memory;
  };
  if (!found.fits)
    return less > 0 && fits_in(memory.total + less) ? VerdictWord::may_not_fit
                                                    : VerdictWord::does_not_fit;
  if (!bounds.has_upper_end) return VerdictWord::may_not_fit;
  const bool surely = more <= 0 || found.headroom_bytes >= more || fits_in(memory.total - more);
  return surely ? VerdictWord::fits : VerdictWord::may_not_fit;
}

Bounds bounds_of_needed(Bounds about_peak, Bytes peak_device, Bytes needed, const Verdict& found,
                        VerdictWord word, Bytes total) {
  const Bytes more = about_peak.high_bytes - peak_device;
  Bounds bounds = std::move(about_peak);
  bounds.low_bytes += needed - peak_device;
  bounds.high_bytes += needed - peak_device;
  if (word == VerdictWord::may_not_fit) {
    bounds.low_bytes = std::min(bounds.low_bytes, total);
    bounds.high_bytes = std::max(bounds.high_bytes, total - found.headroom_bytes + more);
  }
  if (word == VerdictWord::fits && bounds.high_bytes > total) {
    bounds.high_bytes = total;
    bounds.causes.emplace_back(
        "what would go beyond the device goes back to the driver as cached segments");
  }
  return bounds;
}

}  // namespace memtape
