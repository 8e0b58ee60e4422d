// SPDX-License-Identifier: Apache-2.0
#include "report/in_flight.h"

#include <algorithm>

namespace memtape::report {
namespace {

bool overlap(const std::vector<InFlight>& flights) {
  for (std::size_t i = 0; i < flights.size(); ++i)
    for (std::size_t k = i + 1; k < flights.size(); ++k)
      if (flights[i].from < flights[k].to && flights[k].from < flights[i].to) return true;
  return false;
}

/// How many micro-batches are alive at most, counted once in each of the rank's stages.
int most_alive(std::span<const Pass> passes) {
  int alive = 0, most = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const auto same = [&](const Pass& p) {
      return p.stage == passes[i].stage && p.micro_batch == passes[i].micro_batch;
    };
    const bool begins =
        std::none_of(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(i), same);
    const bool ends =
        std::none_of(passes.begin() + static_cast<std::ptrdiff_t>(i) + 1, passes.end(), same);
    if (begins) most = std::max(most, ++alive);
    if (ends) --alive;
  }
  return most;
}

bool has_several_stages(std::span<const Pass> passes) {
  return std::any_of(passes.begin(), passes.end(),
                     [&](const Pass& p) { return p.stage != passes.front().stage; });
}

}  // namespace

std::string passes_text(std::span<const Pass> passes) {
  std::string text;
  const bool several = has_several_stages(passes);
  for (const Pass& pass : passes) {
    text += text.empty() ? "" : " ";
    text += pass.phase == Phase::forward ? 'F' : 'B';
    text += std::to_string(pass.micro_batch + 1);
    if (several) text += "." + std::to_string(pass.stage);
  }
  return text;
}

std::vector<StageSchedule> stage_schedules(std::span<const RankReport> ranks) {
  std::vector<StageSchedule> schedules;
  bool has_several = false;
  for (const RankReport& rank : ranks) {
    if (rank.passes.empty()) return {};
    has_several |= rank.passes.size() > 2;
    schedules.push_back({rank.stage, passes_text(rank.passes), most_alive(rank.passes)});
  }
  std::stable_sort(schedules.begin(), schedules.end(),
                   [](const auto& a, const auto& b) { return a.stage < b.stage; });
  const auto same = [](const auto& a, const auto& b) {
    return a.stage == b.stage && a.passes == b.passes;
  };
  schedules.erase(std::unique(schedules.begin(), schedules.end(), same), schedules.end());
  const bool is_pipeline =
      has_several && schedules.size() > 1 && schedules.front().stage != schedules.back().stage;
  return is_pipeline ? schedules : std::vector<StageSchedule>();
}

std::vector<InFlight> micro_batches_in_flight(std::span<const Window> windows) {
  std::vector<InFlight> flights;
  for (const Window& w : windows) {
    if (w.mark.phase != Phase::forward && w.mark.phase != Phase::backward) continue;
    if (w.first_event == w.last_event) continue;
    const auto same = [&](const InFlight& f) {
      return f.stage == w.mark.stage && f.micro_batch == w.mark.micro_batch;
    };
    const auto known = std::find_if(flights.begin(), flights.end(), same);
    if (known == flights.end())
      flights.push_back({w.mark.stage, w.mark.micro_batch, w.first_event, w.last_event});
    else
      known->to = w.last_event;
  }
  if (!overlap(flights)) return {};
  std::stable_sort(flights.begin(), flights.end(),
                   [](const InFlight& a, const InFlight& b) { return a.stage < b.stage; });
  return flights;
}

}  // namespace memtape::report
