// SPDX-License-Identifier: Apache-2.0
#include "evidence/leaks.h"

#include <algorithm>
#include <map>

namespace memtape {
namespace {

constexpr std::size_t kFewestMarked = 4;   ///< the first two warm up: two more must grow
constexpr std::size_t kFewestGuessed = 8;  ///< a rhythm may be that of layers
constexpr std::size_t kWarmUp = 2;
constexpr Bytes kLeast = 1 << 20;  ///< what grows by less over the recording is not worth a line

using LeakKey = std::pair<StackId, Bytes>;

std::vector<std::uint32_t> marked_steps(const Recording& recording) {
  std::vector<std::uint32_t> begin;
  std::size_t event = 0;
  for (const SnapshotAnnotation& a : recording.annotations) {
    const std::string_view name = recording.stacks->text(a.name);
    if (!a.is_start || name.find("Optimizer.step#") == name.npos) continue;
    while (event < recording.times_us.size() && recording.times_us[event] < a.time_us) ++event;
    begin.push_back(static_cast<std::uint32_t>(event));
  }
  return begin;
}

/// Groups whose blocks are alive one at a time, each freed before the next: one of them marks the
/// rhythm of the program. The rarest is the step, its micro-batches and layers come more often.
std::vector<std::uint32_t> rhythm_of(const Held& held) {
  std::map<LeakKey, std::vector<const BlockLife*>> groups;
  for (const BlockLife& life : held.lives)
    if (!life.is_older) groups[{life.stack, life.requested}].push_back(&life);
  const std::vector<const BlockLife*>* best = nullptr;
  for (const auto& [key, lives] : groups) {
    if (lives.size() < kFewestGuessed) continue;
    bool one_at_a_time = true;
    for (std::size_t i = 1; one_at_a_time && i < lives.size(); ++i)
      one_at_a_time = lives[i - 1]->died <= lives[i]->born;
    if (!one_at_a_time) continue;
    const bool rarer =
        !best || lives.size() < best->size() ||
        (lives.size() == best->size() && lives.front()->requested > best->front()->requested);
    if (rarer) best = &lives;
  }
  std::vector<std::uint32_t> begin;
  if (best)
    for (const BlockLife* life : *best) begin.push_back(life->born);
  return begin;
}

}  // namespace

Steps steps_of(const Recording& recording, const Held& held) {
  Steps steps{marked_steps(recording), true};
  if (steps.begin.size() >= kFewestMarked) return steps;
  return {rhythm_of(held), false};
}

std::vector<Leak> leaks_of(const Held& held, const Steps& all) {
  // What a program lets go of after it ran out was a leak all the same.
  const std::uint32_t end = held.ooms.empty() ? held.end.event : held.ooms.front().event;
  Steps steps = all;
  std::erase_if(steps.begin, [&](std::uint32_t event) { return event > end; });
  if (steps.begin.size() < kFewestMarked) return {};
  std::map<LeakKey, std::vector<std::int64_t>> alive;  // at the beginning of each step
  for (const BlockLife& life : held.lives) {
    if (life.is_older) continue;
    auto& counts = alive[{life.stack, life.requested}];
    counts.resize(steps.begin.size());
    const auto from = std::ranges::lower_bound(steps.begin, life.born);
    const auto to = std::ranges::lower_bound(steps.begin, life.died);
    for (auto at = from; at < to; ++at)
      ++counts[static_cast<std::size_t>(at - steps.begin.begin())];
  }
  std::vector<Leak> leaks;
  for (const auto& [key, counts] : alive) {
    bool grows = true;
    for (std::size_t i = kWarmUp; i < counts.size(); ++i) grows &= counts[i] > counts[i - 1];
    const std::int64_t grown = counts.back() - counts[kWarmUp - 1];
    if (!grows || grown * key.second < kLeast) continue;
    Leak leak{.stack = key.first, .requested = key.second};
    for (const BlockLife& life : held.lives)
      if (!life.is_older && life.stack == key.first && life.requested == key.second &&
          life.alive_after(end)) {
        ++leak.count;
        leak.bytes += life.size;
      }
    if (leak.count < grown) continue;
    leak.per_step = static_cast<double>(grown) / static_cast<double>(counts.size() - kWarmUp);
    leaks.push_back(leak);
  }
  std::ranges::stable_sort(leaks, std::ranges::greater(), &Leak::bytes);
  return leaks;
}

}  // namespace memtape
