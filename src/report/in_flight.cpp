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

}  // namespace

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
