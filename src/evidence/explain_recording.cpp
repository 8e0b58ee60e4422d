// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/explanation.h"

namespace memtape {
namespace {

/// Recordings beyond this many events are not played once more under every other setting.
constexpr std::size_t kMostPlayed = 2'000'000;

void find_largest(ExplainedRecording& r, Stories& stories) {
  const std::size_t shown = std::min(kLargestShown, r.at_peak.groups.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const StackStory& story = stories.of(r.at_peak.groups[i].stack);
    r.largest_places.push_back(story.place);
    r.largest_ops.push_back(story.op);
    r.largest_stacks.push_back(story.frames);
  }
  for (const Leak& leak : r.leaks) r.leak_places.push_back(stories.of(leak.stack).place);
}

/// All that the allocator could get when the device ran out.
Bytes limit_of(const Held& held) {
  if (held.ooms.empty()) return kUnlimited;
  return held.ooms.front().levels.reserved + held.ooms.front().device_free;
}

void add_setting(ExplainedRecording& r, const WhatIf& recorded, const WhatIf& other) {
  const Bytes saved = recorded.peak.reserved - other.peak.reserved;
  const bool rescues = other.serves.value_or(false) && !recorded.serves.value_or(false);
  if (!rescues && !r.held.ooms.empty()) return;
  if (!rescues && (saved < 1_MiB || other.retries > recorded.retries)) return;
  Remedy remedy{.change = r.recording.settings_variable + "=" + other.setting,
                .effect = {},
                .bytes = other.peak.reserved,
                .is_enough = rescues};
  if (rescues)
    remedy.effect = fmt::format("the request that failed is served, with {} reserved at most",
                                human_bytes(other.peak.reserved));
  else
    remedy.effect = fmt::format("{} reserved at the peak instead of {}: {} less",
                                human_bytes(other.peak.reserved),
                                human_bytes(recorded.peak.reserved), human_bytes(saved));
  r.remedies.push_back(std::move(remedy));
}

void find_remedies(ExplainedRecording& r) {
  for (std::size_t i = 0; i < r.leaks.size(); ++i)
    r.remedies.push_back(
        {.change = fmt::format("let go of what {} keeps", r.leak_places[i]),
         .effect = fmt::format("{} in {} blocks at the end, {:.0f} more with every step",
                               human_bytes(r.leaks[i].bytes), with_commas(r.leaks[i].count),
                               r.leaks[i].per_step),
         .bytes = r.leaks[i].bytes});
  for (std::size_t i = 1; i < r.what_ifs.size(); ++i)
    add_setting(r, r.what_ifs.front(), r.what_ifs[i]);
  if (r.held.ooms.empty()) return;
  const HeldOom& oom = r.held.ooms.front();
  const bool served = std::ranges::any_of(r.remedies, &Remedy::is_enough);
  if (!served)
    r.remedies.push_back(
        {.change = "less memory in use when the request comes",
         .effect = fmt::format(
             "{} of {} was free: at least {} must go (a smaller batch, shorter sequences, "
             "--gradient-checkpointing full; memtape train shows each with its peak)",
             human_bytes(oom.device_free), human_bytes(oom.requested),
             human_bytes(std::max<Bytes>(0, oom.requested - oom.device_free))),
         .bytes = std::max<Bytes>(0, oom.requested - oom.device_free)});
}

}  // namespace

ExplainedRecording explained(Recording recording) {
  ExplainedRecording r;
  r.recording = std::move(recording);
  r.held = held_of(r.recording);
  Stories stories(*r.recording.stacks);
  r.at_peak = account_of(r.held.alive_at(r.held.peak), stories);
  HeldMoment moment = r.held.peak_reserved;
  if (!r.held.ooms.empty()) moment = {r.held.ooms.front().event, r.held.ooms.front().levels, false};
  r.fragmentation = fragmentation_at(r.recording, r.held, moment);
  r.steps = steps_of(r.recording, r.held);
  r.leaks = leaks_of(r.held, r.steps);
  find_largest(r, stories);
  if (!r.held.ooms.empty())
    r.oom_place = stories.of(r.recording.stack_of(r.held.ooms.front().event)).place;
  if (r.recording.trace.events.size() > kMostPlayed)
    r.recording.warnings.push_back(
        "more than 2,000,000 events: they are not played under other settings");
  else if (r.held.has_events && !r.recording.is_cut)
    r.what_ifs = what_if(r.recording, r.held, limit_of(r.held));
  if (!r.what_ifs.empty()) find_remedies(r);
  return r;
}

}  // namespace memtape
