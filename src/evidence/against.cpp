// SPDX-License-Identifier: Apache-2.0
#include "evidence/against.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

constexpr std::size_t kMostNamed = 8;
constexpr std::size_t kMostCandidates = 64;

/// Blocks of one size that only one side holds.
struct Lone {
  Bytes requested = 0, bytes = 0;
  std::int64_t count = 0;
  Category category = Category::unknown;
  std::string label;
};

template <class Side>
using BySize = std::map<Bytes, std::vector<const Side*>>;

/// Takes from both sides what has the same size; what stays is the difference.
void cancel(BySize<BlockLife>& recorded, BySize<PredictedBlock>& predicted) {
  for (auto& [size, ours] : recorded) {
    const auto found = predicted.find(size);
    if (found == predicted.end()) continue;
    const std::size_t same = std::min(ours.size(), found->second.size());
    ours.resize(ours.size() - same);
    found->second.resize(found->second.size() - same);
  }
  std::erase_if(recorded, [](const auto& side) { return side.second.empty(); });
  std::erase_if(predicted, [](const auto& side) { return side.second.empty(); });
}

std::vector<Lone> lone_recorded(const BySize<BlockLife>& left, Stories& stories) {
  std::map<std::pair<Bytes, std::string>, Lone> groups;
  for (const auto& [size, blocks] : left)
    for (const BlockLife* block : blocks) {
      const StackStory& story = stories.of(block->stack);
      Lone& lone = groups[{size, story.place}];
      lone.requested = size;
      lone.bytes += block->requested;
      ++lone.count;
      lone.category = stories.category_of(*block);
      lone.label = story.place;
    }
  std::vector<Lone> all;
  for (auto& [key, lone] : groups) all.push_back(std::move(lone));
  std::ranges::stable_sort(all, std::ranges::greater(), &Lone::bytes);
  return all;
}

std::vector<Lone> lone_predicted(const BySize<PredictedBlock>& left) {
  std::map<std::pair<Bytes, std::string>, Lone> groups;
  for (const auto& [size, blocks] : left)
    for (const PredictedBlock* block : blocks) {
      Lone& lone = groups[{size, block->label}];
      lone.requested = size;
      lone.bytes += block->requested;
      ++lone.count;
      lone.category = block->category;
      lone.label = block->label;
    }
  std::vector<Lone> all;
  for (auto& [key, lone] : groups) all.push_back(std::move(lone));
  std::ranges::stable_sort(all, std::ranges::greater(), &Lone::bytes);
  return all;
}

Bytes sum_of(const std::vector<Lone>& lone) {
  return std::accumulate(lone.begin(), lone.end(), Bytes{0},
                         [](Bytes sum, const Lone& l) { return sum + l.bytes; });
}

bool is_data(Category category) {
  return category == Category::activation || category == Category::temporary ||
         category == Category::input || category == Category::unknown ||
         category == Category::gradient;
}

/// The one ratio between sizes of the run and of the prediction that turns most bytes of one into
/// the other: another batch, sequence length or padding.
struct Scale {
  std::int64_t numerator = 1, denominator = 1;
  Bytes explained = 0;
};

Scale scale_between(const std::vector<Lone>& recorded, const std::vector<Lone>& predicted) {
  std::map<Bytes, std::int64_t> counts;
  for (const Lone& lone : predicted)
    if (is_data(lone.category)) counts[lone.requested] += lone.count;
  Scale best;
  for (std::size_t i = 0; i < std::min(kMostNamed, recorded.size()); ++i)
    for (std::size_t k = 0; k < std::min(kMostNamed, predicted.size()); ++k) {
      const Bytes common = std::gcd(recorded[i].requested, predicted[k].requested);
      const std::int64_t n = recorded[i].requested / common, d = predicted[k].requested / common;
      if (n > 4096 || d > 4096) continue;
      Scale scale{n, d, 0};
      for (const Lone& lone : recorded) {
        if (lone.requested % n != 0) continue;
        const auto found = counts.find(lone.requested / n * d);
        if (found != counts.end())
          scale.explained += lone.requested * std::min(lone.count, found->second);
      }
      if (scale.explained > best.explained) best = scale;
    }
  return best;
}

/// Removes from both sides what the scale explains; the difference in bytes.
Bytes take_scaled(const Scale& scale, std::vector<Lone>& recorded, std::vector<Lone>& predicted) {
  Bytes difference = 0;
  for (Lone& ours : recorded) {
    if (ours.requested % scale.numerator != 0) continue;
    const Bytes theirs = ours.requested / scale.numerator * scale.denominator;
    for (Lone& lone : predicted) {
      if (lone.requested != theirs || !is_data(lone.category)) continue;
      const std::int64_t count = std::min(ours.count, lone.count);
      difference += count * (ours.requested - lone.requested);
      ours.count -= count;
      ours.bytes -= count * ours.requested;
      lone.count -= count;
      lone.bytes -= count * lone.requested;
    }
  }
  const auto gone = [](const Lone& lone) { return lone.count == 0; };
  std::erase_if(recorded, gone);
  std::erase_if(predicted, gone);
  return difference;
}

std::string cause_of(const Lone& lone) {
  switch (lone.category) {
    case Category::workspace: return "a library's workspace";
    case Category::communication: return "communication buffers";
    case Category::optimizer_state: return "optimizer state, in the run alone";
    default: return "held by the run alone";
  }
}

void name_largest(const std::vector<Lone>& lone, bool of_run, std::vector<Residual>& residual) {
  const std::size_t named = std::min(kMostNamed, lone.size());
  for (std::size_t i = 0; i < named; ++i)
    residual.push_back({.cause = of_run ? cause_of(lone[i]) : "predicted, not in the run",
                        .bytes = of_run ? lone[i].bytes : -lone[i].bytes,
                        .where = fmt::format("{} x {} B, {}{}{}", lone[i].count,
                                             with_commas(lone[i].requested), name(lone[i].category),
                                             lone[i].label.empty() ? "" : ", ", lone[i].label)});
  const std::vector<Lone> rest(lone.begin() + static_cast<std::ptrdiff_t>(named), lone.end());
  if (!rest.empty())
    residual.push_back({.cause = of_run ? "held by the run alone, others" : "predicted, others",
                        .bytes = of_run ? sum_of(rest) : -sum_of(rest),
                        .where = fmt::format("{} more sizes and lines", rest.size())});
}

/// The recording's allocations in order.
struct Requests {
  std::vector<std::size_t> events;
  std::vector<Bytes> sizes;
};

Requests requests_of(const Recording& recording) {
  Requests all;
  for (std::size_t i = 0; i < recording.trace.events.size(); ++i)
    if (recording.trace.events[i].action == TraceAction::alloc) {
      all.events.push_back(i);
      all.sizes.push_back(recording.trace.events[i].size);
    }
  return all;
}

std::size_t equal_at(const std::vector<Bytes>& step, const std::vector<Bytes>& sizes,
                     std::ptrdiff_t offset) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const std::ptrdiff_t at = offset + static_cast<std::ptrdiff_t>(i);
    if (at >= 0 && static_cast<std::size_t>(at) < sizes.size())
      found += sizes[static_cast<std::size_t>(at)] == step[i] ? 1 : 0;
  }
  return found;
}

/// Where the step fits best; the rarest of its sizes tells where it may lie. The last such place
/// counts: a step of the steady state rather than the first.
std::optional<std::ptrdiff_t> best_offset(const std::vector<Bytes>& step,
                                          const std::vector<Bytes>& sizes) {
  std::map<Bytes, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < sizes.size(); ++i) places[sizes[i]].push_back(i);
  std::size_t anchor = 0;
  const std::vector<std::size_t>* rarest = nullptr;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const auto found = places.find(step[i]);
    if (found == places.end() || (rarest && found->second.size() >= rarest->size())) continue;
    rarest = &found->second;
    anchor = i;
  }
  if (!rarest) return std::nullopt;
  std::optional<std::ptrdiff_t> best;
  std::size_t most = 0;
  for (std::size_t c = 0; c < std::min(kMostCandidates, rarest->size()); ++c) {
    const auto offset = static_cast<std::ptrdiff_t>((*rarest)[rarest->size() - 1 - c]) -
                        static_cast<std::ptrdiff_t>(anchor);
    const std::size_t found = equal_at(step, sizes, offset);
    if (!best || found > most) {
      most = found;
      best = offset;
    }
  }
  return best;
}

/// The ratio that most allocations have that stand in the same place with another size.
void find_ratio(const std::vector<Bytes>& step, const std::vector<Bytes>& sizes,
                std::ptrdiff_t offset, Alignment& alignment) {
  std::map<std::pair<Bytes, Bytes>, std::size_t> ratios;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const std::ptrdiff_t at = offset + static_cast<std::ptrdiff_t>(i);
    if (at < 0 || static_cast<std::size_t>(at) >= sizes.size()) continue;
    const Bytes ours = sizes[static_cast<std::size_t>(at)];
    if (ours == step[i] || ours <= 0) continue;
    const Bytes common = std::gcd(ours, step[i]);
    ++ratios[{ours / common, step[i] / common}];
  }
  std::size_t most = 0;
  for (const auto& [ratio, count] : ratios) {
    if (count <= most) continue;
    most = count;
    alignment.numerator = ratio.first;
    alignment.denominator = ratio.second;
  }
}

}  // namespace

Alignment aligned(const Recording& recording, const Predicted& predicted, Stories& stories) {
  const Requests requests = requests_of(recording);
  Alignment alignment{.predicted = predicted.step.size(), .first_difference = {}};
  const auto offset = best_offset(predicted.step, requests.sizes);
  if (!offset) return alignment;
  alignment.found = equal_at(predicted.step, requests.sizes, *offset);
  if (*offset >= 0) alignment.first_event = requests.events[static_cast<std::size_t>(*offset)];
  if (alignment.found == alignment.predicted) return alignment;
  find_ratio(predicted.step, requests.sizes, *offset, alignment);
  for (std::size_t i = 0; i < predicted.step.size(); ++i) {
    const std::ptrdiff_t at = *offset + static_cast<std::ptrdiff_t>(i);
    const bool inside = at >= 0 && static_cast<std::size_t>(at) < requests.sizes.size();
    const Bytes size = inside ? requests.sizes[static_cast<std::size_t>(at)] : 0;
    if (inside && size == predicted.step[i]) continue;
    std::string recorded = "the recording has none";
    if (inside) {
      const std::size_t event = requests.events[static_cast<std::size_t>(at)];
      const std::string place = stories.of(recording.stack_of(event)).place;
      recorded =
          fmt::format("{} B recorded{}{}", with_commas(size), place.empty() ? "" : " at ", place);
    }
    alignment.first_difference = fmt::format("allocation {} of the step: {} B predicted, {}", i + 1,
                                             with_commas(predicted.step[i]), recorded);
    break;
  }
  return alignment;
}

std::vector<Residual> residual_of(const ExplainedRecording& recorded, const Predicted& predicted) {
  Stories stories(*recorded.recording.stacks);
  const std::vector<const BlockLife*> alive = recorded.held.alive_at(recorded.held.peak);
  BySize<BlockLife> ours;
  BySize<PredictedBlock> theirs;
  Bytes our_rounding = 0, their_rounding = 0;
  for (const BlockLife* life : alive) {
    ours[life->requested].push_back(life);
    our_rounding += life->size - life->requested;
  }
  for (const PredictedBlock& block : predicted.alive) {
    theirs[block.requested].push_back(&block);
    their_rounding += block.size - block.requested;
  }
  cancel(ours, theirs);
  std::vector<Lone> run = lone_recorded(ours, stories), ghost = lone_predicted(theirs);
  std::vector<Residual> residual;
  const Scale scale = scale_between(run, ghost);
  if (2 * scale.explained > sum_of(run) && scale.numerator != scale.denominator) {
    const Bytes bytes = take_scaled(scale, run, ghost);
    residual.push_back({.cause = "another batch, length or padding",
                        .bytes = bytes,
                        .where = fmt::format("data of the run is {}/{} of what was predicted",
                                             scale.numerator, scale.denominator)});
  }
  name_largest(run, true, residual);
  name_largest(ghost, false, residual);
  if (our_rounding != their_rounding)
    residual.push_back({.cause = "rounding of blocks",
                        .bytes = our_rounding - their_rounding,
                        .where = "blocks beyond their requests: which free block served them"});
  const Bytes beyond =
      (recorded.held.peak_reserved.levels.reserved - recorded.held.peak.levels.allocated) -
      (predicted.peak.reserved - predicted.peak.allocated);
  if (beyond != 0)
    residual.push_back(
        {.cause = "reserved beyond allocated",
         .bytes = beyond,
         .where = "segments' free memory: fragmentation, and what was cached before"});
  return residual;
}

}  // namespace memtape
