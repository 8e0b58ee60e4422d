// SPDX-License-Identifier: Apache-2.0
// search_plans: lays out the spaces, bounds the memory of each candidate from below, sorts the
// candidates by time, and confirms them exactly from the best on, until there are as many as are to
// be shown.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/clock.h"
#include "plan/confirm.h"
#include "plan/space.h"
#include "report/plan_answer.h"

namespace memtape::plan {

enum class Objective : std::uint8_t { throughput, gpus, cost, headroom };
Result<Objective> objective_named(const std::string& word);
std::string_view name(Objective objective);

/// One framework on a number of GPUs.
struct Field {
  std::unique_ptr<Job> job;
  std::unique_ptr<Space> space;
  std::unique_ptr<Clock> clock;
  Reading reading;
};

struct Progress {
  std::int64_t screened = 0, bounded = 0, confirmed = 0, found = 0;
};

struct SearchOptions {
  Objective objective = Objective::throughput;
  std::size_t top = 5;
  std::size_t written = 1;               ///< the plan whose program is wanted, from 1 on
  bool explains = false;                 ///< every rank of the layouts that people expect is run
  std::optional<double> price_per_hour;  ///< of one GPU
  Workers workers;
  std::function<bool()> stopped = [] { return false; };
  std::function<void(const Progress&)> progress = [](const Progress&) {};
};

Result<PlanAnswer> search_plans(std::vector<Field>& fields, const ModelRequest& model,
                                const DeviceSetup& device, const SearchOptions& options);

}  // namespace memtape::plan
