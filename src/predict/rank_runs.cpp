// SPDX-License-Identifier: Apache-2.0
#include "predict/rank_runs.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "allocator/ideal_allocator.h"
#include "predict/outside.h"
#include "predict/program.h"
#include "predict/rank_report.h"

namespace memtape {
namespace {

bool same_numbers(const RankReport& a, const RankReport& b) {
  const auto same = [](const Levels& x, const Levels& y) {
    return x.requested == y.requested && x.allocated == y.allocated && x.reserved == y.reserved;
  };
  if (a.stage != b.stage || a.phases.size() != b.phases.size()) return false;
  for (std::size_t i = 0; i < a.phases.size(); ++i)
    if (!same(a.phases[i].peak, b.phases[i].peak)) return false;
  return same(a.peak, b.peak) && same(a.steady, b.steady) &&
         a.parameter_bytes == b.parameter_bytes && a.buffer_bytes == b.buffer_bytes &&
         a.optimizer_state_bytes == b.optimizer_state_bytes && a.gradient_bytes == b.gradient_bytes;
}

/// Adds a report, or its ranks to the one that says the same.
void add_report(std::vector<RankReport>& reports, RankReport report) {
  for (RankReport& known : reports) {
    if (!same_numbers(known, report)) continue;
    const auto added =
        known.ranks.insert(known.ranks.end(), report.ranks.begin(), report.ranks.end());
    std::inplace_merge(known.ranks.begin(), added, known.ranks.end());
    return;
  }
  reports.push_back(std::move(report));
}

/// Fullest first; but the report that holds the last rank of all comes last, so that it is found
/// without knowing how many ranks there are.
void put_in_order(std::vector<RankReport>& reports) {
  std::stable_sort(reports.begin(), reports.end(), [](const RankReport& a, const RankReport& b) {
    return a.peak_device_bytes > b.peak_device_bytes;
  });
  const auto last = std::max_element(
      reports.begin(), reports.end(),
      [](const auto& a, const auto& b) { return a.ranks.back() < b.ranks.back(); });
  std::rotate(last, last + 1, reports.end());
}

/// The highest level of requested bytes: no allocator takes less.
Bytes most_requested(const Tape& tape) {
  IdealAllocator ideal;
  for (const Event& event : tape.events) {
    if (event.kind == EventKind::alloc)
      ideal.malloc(tape.requested[event.block]);
    else if (event.kind == EventKind::free)
      ideal.free(tape.requested[event.block]);
  }
  return ideal.peak();
}

/// The ranks of a training, one of each kind.
class RankRuns {
 public:
  RankRuns(const Config& config, const TrainPlan& plan, const DeviceSetup& device,
           const PredictOptions& options, int measured, std::vector<torch::RankClass> classes)
      : config_(config),
        plan_(plan),
        device_(device),
        options_(options),
        measured_(measured),
        classes_(std::move(classes)),
        outcomes_(classes_.size()),
        fullest_(options.workers.count) {}

  Result<FullestRank> run(std::vector<RankReport>& reports) {
    const Wave first = first_wave();
    Result<bool> goes_on = run_wave(likely_fullest(first));
    for (Wave wave = first; goes_on && *goes_on && !wave.empty(); wave = next_wave(wave))
      goes_on = run_wave(wave);
    if (!goes_on) return tl::unexpected(goes_on.error());
    for (std::optional<Result<RankReport>>& outcome : outcomes_)
      if (outcome) add_report(reports, std::move(**outcome));
    put_in_order(reports);
    return std::move(*fullest().rank);
  }

 private:
  /// Classes that run side by side, by their indices.
  using Wave = std::vector<std::size_t>;

  /// Runs those that have not run, and says whether others are to be run, too.
  Result<bool> run_wave(Wave wave) {
    std::erase_if(wave, [this](std::size_t at) { return outcomes_[at].has_value(); });
    if (wave.empty()) return true;
    options_.workers.share(wave.size(), [&](std::size_t worker, std::size_t at) {
      outcomes_[wave[at]] = run_rank(fullest_[worker], wave[at]);
    });
    for (const std::size_t at : wave)
      if (!*outcomes_[at]) return tl::unexpected(outcomes_[at]->error());
    Candidate& fullest_so_far = fullest();
    FullestRank& so_far = *fullest_so_far.rank;
    if (options_.until_too_large && is_too_large(so_far.play.highest.reserved)) return false;
    const bool is_known = std::exchange(judged_, fullest_so_far.at) == fullest_so_far.at;
    so_far.is_tight = options_.until_tight && !is_known && is_tight(so_far);
    return !so_far.is_tight;
  }

  /// The fullest of those that one worker ran.
  struct Candidate {
    std::optional<FullestRank> rank;
    Bytes peak = 0;
    std::size_t at = 0;
    bool is_fuller_than(const Candidate& other) const {
      if (!rank || !other.rank) return rank.has_value();
      return peak != other.peak ? peak > other.peak : at < other.at;
    }
  };

  Candidate& fullest() {
    Candidate* found = &fullest_.front();
    for (Candidate& one : fullest_)
      if (one.is_fuller_than(*found)) found = &one;
    return *found;
  }

  bool is_too_large(Bytes bytes) const {
    const std::optional<Bytes> most = options_.at_most ? options_.at_most : device_.total_bytes();
    return most && bytes > *most - device_.context_bytes();
  }

  /// Whether it needs more than is left for certain, also with cached segments given back.
  bool is_tight(const FullestRank& rank) const {
    const std::optional<Bytes> total = device_.total_bytes();
    if (!total) return false;
    const Bytes room = surely_left(*total, plan_.common, device_);
    if (rank.play.highest.reserved <= room) return false;
    const StepPlay play =
        play_program(rank.run.tape, device_, {.total = std::max<Bytes>(room, 0)}, measured_, false);
    return play.before.out_of_memory || play.step.out_of_memory;
  }

  /// All; or, of those whose layers are alike, one of those with the most in flight.
  Wave first_wave() const {
    Wave wave;
    std::set<int> known;
    for (std::size_t at = 0; at < classes_.size(); ++at)
      if (!options_.fullest_only ||
          (!has_fuller_kin(at) && known.insert(classes_[at].layers_alike).second))
        wave.push_back(at);
    return wave;
  }

  /// Of the first wave the one that runs before the others, where it may end the run.
  Wave likely_fullest(const Wave& first) const {
    if (!options_.until_too_large || !options_.likely_stage) return {};
    const auto found = std::ranges::find(first, *options_.likely_stage,
                                         [this](std::size_t at) { return classes_[at].stage; });
    return found == first.end() ? Wave() : Wave{*found};
  }

  bool has_fuller_kin(std::size_t at) const {
    return std::ranges::any_of(classes_, [&](const torch::RankClass& other) {
      return other.layers_alike == classes_[at].layers_alike &&
             other.in_flight > classes_[at].in_flight;
    });
  }

  /// Beside each that ran last its equals in layers and in flight, which differ in how the
  /// optimizer's shards are cut, and one of those with next less in flight; unless it holds so
  /// little that they could not be the fullest.
  Wave next_wave(const Wave& last) {
    Wave wave;
    for (const std::size_t ran : last) {
      const torch::RankClass& one = classes_[ran];
      if (!is_first_of_its_kind(ran) || !may_have_fuller_kin(ran)) continue;
      const bool may_be_fuller = may_rise_over_fullest(ran);
      std::int64_t next = -1;
      for (const torch::RankClass& other : classes_)
        if (other.layers_alike == one.layers_alike && other.in_flight < one.in_flight)
          next = std::max(next, other.in_flight);
      for (std::size_t at = 0; at < classes_.size(); ++at) {
        const torch::RankClass& other = classes_[at];
        if (outcomes_[at] || other.layers_alike != one.layers_alike) continue;
        const bool is_less =
            may_be_fuller && next >= 0 && other.in_flight == next && is_first_of_its_kind(at);
        const bool is_equal = other.in_flight == one.in_flight && may_have_fuller_equal(ran);
        if (is_equal || is_less) wave.push_back(at);
      }
    }
    return wave;
  }

  /// Of the classes with the same layers and as many in flight.
  bool is_first_of_its_kind(std::size_t at) const {
    return std::none_of(classes_.begin(), classes_.begin() + static_cast<std::ptrdiff_t>(at),
                        [&](const torch::RankClass& other) {
                          return other.layers_alike == classes_[at].layers_alike &&
                                 other.in_flight == classes_[at].in_flight;
                        });
  }

  /// A class with less in flight holds no more requested bytes than `at`, which ran, and one whose
  /// shards are cut otherwise holds as many but for their ends. What the
  /// allocator adds to them follows from how blocks fall into place, and no bound of it is known
  /// but that of a run: twice what the fullest rank has of it is allowed for.
  bool may_have_fuller_kin(std::size_t at) {
    const Levels& most = fullest().rank->play.highest;
    const Bytes added = most.reserved - most.requested;
    return (*outcomes_[at])->peak.requested + added > most.requested;
  }

  /// What its kin that ran reserve falls with what they have in flight, or stays: twice of what any
  /// of them reserves more than the one before is allowed for.
  bool may_rise_over_fullest(std::size_t at) {
    std::map<std::int64_t, Bytes, std::greater<>> reserved;  // by what is in flight
    for (std::size_t one = 0; one < classes_.size(); ++one) {
      if (classes_[one].layers_alike != classes_[at].layers_alike || !outcomes_[one]) continue;
      Bytes& most = reserved[classes_[one].in_flight];
      most = std::max(most, (*outcomes_[one])->peak.reserved);
    }
    if (reserved.size() < 2) return true;
    Bytes rise = 0, before = reserved.begin()->second;
    for (const auto& [in_flight, bytes] : reserved)
      rise = std::max(rise, bytes - std::exchange(before, bytes));
    return before + 2 * rise > fullest().rank->play.highest.reserved;
  }

  /// Its equals differ in how the optimizer's shards are cut, as those with the most in flight do:
  /// twice of what these lie apart is allowed for.
  bool may_have_fuller_equal(std::size_t at) {
    Bytes most = 0, least = std::numeric_limits<Bytes>::max();
    for (std::size_t one = 0; one < classes_.size(); ++one) {
      if (classes_[one].layers_alike != classes_[at].layers_alike || has_fuller_kin(one)) continue;
      if (!outcomes_[one]) return true;
      most = std::max(most, (*outcomes_[one])->peak.reserved);
      least = std::min(least, (*outcomes_[one])->peak.reserved);
    }
    return (*outcomes_[at])->peak.reserved + 2 * (most - least) >=
           fullest().rank->play.highest.reserved;
  }

  Result<RankReport> run_rank(Candidate& fullest, std::size_t at) const {
    const torch::RankClass& alike = classes_[at];
    Result<torch::TrainRun> run =
        run_plan(plan_, config_, device_traits(device_), alike.ranks.front());
    if (!run) return tl::unexpected(run.error());
    StepPlay play;
    const Bytes requested = options_.until_too_large ? most_requested(run->tape) : 0;
    const bool cannot_fit = is_too_large(requested);
    if (cannot_fit)
      play.highest = {.requested = requested, .allocated = requested, .reserved = requested};
    else
      play = play_program(run->tape, device_, {}, measured_, options_.trace);
    if (play.before.out_of_memory || play.step.out_of_memory)
      return bad_input("needs more memory than a device has addresses for (32 TiB)", "the step",
                       "check the sizes of the model and of the batch");
    RankReport report = options_.fullest_only
                            ? levels_report(*run, play, device_.context_bytes())
                            : rank_report(*run, play, device_.context_bytes(), options_.largest);
    if (cannot_fit) {
      report.peak = play.highest;
      report.peak_device_bytes = requested + device_.context_bytes();
    }
    report.ranks = alike.ranks;
    report.stage = alike.stage;
    report.outside = outside_memory(plan_.common, device_);
    Candidate mine{FullestRank{std::move(*run), std::move(play), cannot_fit},
                   report.peak_device_bytes, at};
    if (mine.is_fuller_than(fullest)) fullest = std::move(mine);
    return report;
  }

  const Config& config_;
  const TrainPlan& plan_;
  const DeviceSetup& device_;
  const PredictOptions& options_;
  const int measured_;
  const std::vector<torch::RankClass> classes_;
  std::vector<std::optional<Result<RankReport>>> outcomes_;  ///< by class; none if it was left out
  std::vector<Candidate> fullest_;                           ///< by worker
  std::optional<std::size_t> judged_;                        ///< the class that is_tight saw last
};

}  // namespace

Result<FullestRank> run_ranks(const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device, const PredictOptions& options,
                              int measured, std::vector<RankReport>& reports) {
  const Result<TrainPlanPointer> plan = plan_of(config, recipe);
  if (!plan) return tl::unexpected(plan.error());
  Result<std::vector<torch::RankClass>> classes = reported_ranks(**plan, config);
  if (!classes) return tl::unexpected(classes.error());
  return RankRuns(config, **plan, device, options, measured, std::move(*classes)).run(reports);
}

}  // namespace memtape
