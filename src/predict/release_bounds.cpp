// SPDX-License-Identifier: Apache-2.0
#include "predict/release_bounds.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "model/type_of.h"
#include "predict/releases_meant.h"
#include "release/release_costs.h"

namespace memtape {
namespace {

/// What a release may cost, and why that much.
struct Doubt {
  Cost cost;
  std::string why;
};

struct AskedRelease {
  const PackageFacts& facts;
  Version release;  ///< without its third number
  std::string family;
  Bytes reserved = 0;

  Bytes bytes(const Cost& cost) const {
    return std::max(reserved * cost.thousandths / 1000, cost.bytes);
  }
  std::string said(const Cost& cost) const { return human_bytes(bytes(cost)); }
};

using Rows = std::span<const ReleaseCost>;

Doubt recorded_there(const AskedRelease& asked, const ReleaseCost& row) {
  if (row.error.is_nothing()) return {};
  return {row.error,
          fmt::format("answers for {} recorded {} of {} under {} {} were off by up to {}", row.rows,
                      row.rows == 1 ? "step" : "steps", asked.family, asked.facts.name,
                      row.release.minor_text(), asked.said(row.error))};
}

Doubt recorded_around(const AskedRelease& asked, const ReleaseCost& before,
                      const ReleaseCost& after) {
  if (after.step.is_nothing()) return {};
  return {
      after.step,
      fmt::format("no step of {} was recorded under {} {}, and from {} to {} they changed by up "
                  "to {}",
                  asked.family, asked.facts.name, asked.release.minor_text(),
                  before.release.minor_text(), after.release.minor_text(), asked.said(after.step))};
}

/// A release before or after all that the family's steps were recorded under.
Doubt recorded_elsewhere(const AskedRelease& asked, Rows rows) {
  const ReleaseCost& usual = usual_cost(asked.facts.package);
  const bool is_older = !rows.empty() && asked.release < rows.front().release;
  const std::string none =
      fmt::format("no step of {} was recorded under {} {} or {} it", asked.family, asked.facts.name,
                  asked.release.minor_text(), is_older ? "before" : "after");
  if (rows.size() < 2)
    return {
        usual.step,
        fmt::format("{}: of {} recorded steps from one release to the next, 19 of 20 changed by "
                    "at most {}",
                    none, usual.rows, asked.said(usual.step))};
  const auto most = std::ranges::max_element(
      rows, {}, [&](const ReleaseCost& row) { return asked.bytes(row.step); });
  if (most->step.is_nothing())
    return {{}, fmt::format("{}; from one recorded release to the next they did not change", none)};
  return {
      most->step,
      fmt::format("{}; from one recorded release to the next they changed by up to {} (as {} came)",
                  none, asked.said(most->step), most->release.minor_text())};
}

bool is_known(const AskedRelease& asked) {
  const std::span<const Version> recorded = recorded_releases(asked.facts.package);
  return std::ranges::any_of(
      recorded, [&](const Version& release) { return release.without_patch() == asked.release; });
}

Doubt doubt_of(const AskedRelease& asked) {
  if (asked.release == asked.facts.newest.without_patch()) return {};
  // torch's kernels are the same for all families: any recorded step compares them.
  if (asked.facts.package == Package::torch && is_known(asked)) return {};
  const Rows rows = release_costs(asked.facts.package, asked.family);
  const auto after = std::ranges::lower_bound(rows, asked.release, {}, &ReleaseCost::release);
  if (after != rows.end() && after->release == asked.release) return recorded_there(asked, *after);
  if (after != rows.end() && after != rows.begin())
    return recorded_around(asked, *std::prev(after), *after);
  return recorded_elsewhere(asked, rows);
}

/// Whether steps were recorded under that release or one before it: of any family for torch, whose
/// kernels are the same for all, else of this one.
bool is_recorded_so_far_back(const AskedRelease& asked) {
  if (asked.facts.package == Package::torch) {
    const std::span<const Version> recorded = recorded_releases(Package::torch);
    return !recorded.empty() && recorded.front().without_patch() <= asked.release;
  }
  const Rows rows = release_costs(asked.facts.package, asked.family);
  return !rows.empty() && rows.front().release <= asked.release;
}

/// Nobody here has seen what a release before the oldest known one does where its rules differ,
/// unless steps of the family were recorded so far back.
void open_above_old_releases(Bounds& bounds, const TrainRecipe& recipe, const std::string& family) {
  for (const Package package : packages_of(recipe)) {
    const PackageFacts& facts = facts_of(package);
    const AskedRelease asked{
        .facts = facts, .release = recipe.release.of(package).without_patch(), .family = family};
    if (recipe.release.of(package) >= facts.oldest || is_recorded_so_far_back(asked)) continue;
    bounds.has_upper_end = false;
    bounds.causes.push_back(fmt::format(
        "no rule of {} {} is known: what it did by default is best said with --attention, "
        "--precision and --gradient-checkpointing, and what else it did is not bounded",
        facts.name, recipe.release.of(package).text()));
  }
}

/// A release after the newest known one whose trainer was written anew: known rules say what lies
/// between its steps, and not what a step needs.
struct RewrittenTrainer {
  Package package;
  Version since;
  std::string_view what;
};
constexpr std::array kRewrittenTrainers{RewrittenTrainer{
    Package::torchtitan,
    {0, 3, 0},
    "captures steps as CUDA graphs, takes the loss in chunks and attends by "
    "flex_attention (trainer.py, components/loss.py, models/common/attention.py)"}};

void open_at_rewritten_trainers(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank) {
  for (const Package package : packages_of(recipe))
    for (const RewrittenTrainer& known : kRewrittenTrainers) {
      if (known.package != package || recipe.release.of(package) < known.since) continue;
      bounds.has_upper_end = false;
      bounds.low_bytes = std::min(bounds.low_bytes, rank.steady.allocated);
      bounds.causes.push_back(fmt::format("{} {} {}: what its steps need is not bounded",
                                          facts_of(package).name, known.since.text(), known.what));
    }
}

/// By how much steps of a trainer changed at most from one release of its package to the next, in
/// thousandths of what is reserved: tests/truth/trl_releases.jsonl and
/// trl_preference_releases.jsonl, SFT as 1.4 came.
struct TrainerPackage {
  Package package;
  std::int64_t thousandths;
};
constexpr std::array kTrainerPackages{TrainerPackage{Package::trl, 67}};

/// Nobody has read what a release after the newest known one does.
void widen_beyond_trainers(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank) {
  for (const Package package : packages_of(recipe))
    for (const TrainerPackage& known : kTrainerPackages) {
      const PackageFacts& facts = facts_of(package);
      if (known.package != package || recipe.release.of(package) <= facts.newest) continue;
      const Bytes bytes = rank.peak.reserved * known.thousandths / 1000;
      bounds.low_bytes = std::max<Bytes>(bounds.low_bytes - bytes, 0);
      bounds.high_bytes += bytes;
      bounds.causes.push_back(
          fmt::format("no step was recorded under {} {}; from one recorded release to the next "
                      "steps of its trainers changed by up to {}",
                      facts.name, recipe.release.of(package).text(), human_bytes(bytes)));
    }
}

}  // namespace

void widen_by_releases(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                       const RankReport& rank) {
  open_above_old_releases(bounds, recipe, type_of(config));
  open_at_rewritten_trainers(bounds, recipe, rank);
  widen_beyond_trainers(bounds, recipe, rank);
  for (const Package package : packages_of(recipe)) {
    if (release_costs(package).empty()) continue;
    const AskedRelease asked{.facts = facts_of(package),
                             .release = recipe.release.of(package).without_patch(),
                             .family = type_of(config),
                             .reserved = rank.peak.reserved};
    const Doubt doubt = doubt_of(asked);
    if (doubt.why.empty()) continue;
    const Bytes bytes = asked.bytes(doubt.cost);
    bounds.low_bytes = std::max<Bytes>(bounds.low_bytes - bytes, 0);
    bounds.high_bytes += bytes;
    bounds.causes.push_back(doubt.why);
  }
}

}  // namespace memtape
