// SPDX-License-Identifier: Apache-2.0
#include "report/tape_diff.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::report {
namespace {

/// Turns allocs and frees with ids of their own into DiffEvents numbered within the step.
class Collector {
 public:
  void alloc(std::int64_t id, Bytes bytes, std::string label) {
    numbers_[id] = events_.size();
    add(bytes, std::move(label));
  }
  void free(std::int64_t id) {
    const auto known = numbers_.find(id);
    frees_.push_back(known == numbers_.end() ? "old" : std::to_string(known->second));
  }
  std::vector<DiffEvent> finish() {
    add(-1, "end of the step");
    return std::move(events_);
  }

 private:
  void add(Bytes bytes, std::string label) {
    std::sort(frees_.begin(), frees_.end());
    events_.push_back({std::move(frees_), bytes, std::move(label)});
    frees_.clear();
  }
  std::unordered_map<std::int64_t, std::size_t> numbers_;
  std::vector<std::string> frees_;
  std::vector<DiffEvent> events_;
};

std::string label_of(const Tape& tape, const Why& why) {
  const std::string path = tape.scopes.path(why.scope);
  return fmt::format("{} {}{}{}", path.empty() ? "-" : path, why.op, why.node[0] ? " " : "",
                     why.node);
}

bool differ(const DiffEvent& a, const DiffEvent& b) {
  return a.bytes != b.bytes || a.frees != b.frees;
}

std::string line(const char* side, const DiffEvent& event) {
  return fmt::format(
      "    {:<9} {:>15}  {}{}\n", side, event.bytes < 0 ? "" : with_commas(event.bytes),
      event.label,
      event.frees.empty() ? "" : fmt::format("   after freeing {}", fmt::join(event.frees, " ")));
}

}  // namespace

TapeDiff compare_tapes(const Tape& tape, std::size_t first,
                       const std::vector<StepTapeEvent>& recorded) {
  TapeDiff diff;
  Collector predicted, truth;
  for (std::size_t at = first; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind == EventKind::alloc)
      predicted.alloc(event.block, tape.requested[event.block],
                      label_of(tape, tape.why[event.block]));
    if (event.kind == EventKind::free) predicted.free(event.block);
  }
  for (const StepTapeEvent& event : recorded) {
    if (event.is_alloc)
      truth.alloc(event.number, event.bytes,
                  fmt::format("{} {} {}", event.place, event.op, event.node));
    else
      truth.free(event.number);
  }
  diff.predicted = predicted.finish();
  diff.recorded = truth.finish();
  const std::size_t both = std::min(diff.predicted.size(), diff.recorded.size());
  diff.differing = std::max(diff.predicted.size(), diff.recorded.size()) - both;
  diff.first = both;
  for (std::size_t i = both; i-- > 0;) {
    if (!differ(diff.predicted[i], diff.recorded[i])) continue;
    diff.first = i;
    ++diff.differing;
  }
  return diff;
}

std::string text(const TapeDiff& diff, std::size_t context) {
  if (diff.same())
    return fmt::format("exact: {} allocations agree\n",
                       with_commas(static_cast<std::int64_t>(diff.recorded.size() - 1)));
  std::string out =
      fmt::format("first difference at event {} of {} ({} differ; predicted {})\n", diff.first,
                  diff.recorded.size(), diff.differing, diff.predicted.size());
  const std::size_t begin = diff.first > context ? diff.first - context : 0;
  for (std::size_t i = begin; i <= diff.first + context; ++i) {
    if (i >= diff.predicted.size() && i >= diff.recorded.size()) break;
    out += fmt::format("{} {}\n", i == diff.first ? ">>" : "  ", i);
    if (i < diff.recorded.size()) out += line("recorded", diff.recorded[i]);
    if (i < diff.predicted.size()) out += line("predicted", diff.predicted[i]);
  }
  return out;
}

}  // namespace memtape::report
