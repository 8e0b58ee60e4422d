// SPDX-License-Identifier: Apache-2.0
#include "plan/search.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "plan/expected.h"
#include "plan/pareto.h"
#include "report/plan_why.h"
#include "workload/train_options.h"

namespace memtape::plan {
namespace {

constexpr auto kObjectives =
    std::to_array<std::string_view>({"throughput", "gpus", "cost", "headroom"});
/// Of plans that train something else no more are shown beside those that do not.
constexpr std::size_t kOfOthers = 2;
/// Nor of those that may not fit, or fit only while cached segments go back in every step.
constexpr std::size_t kOfTight = 2;
/// So many plans are timed by a worker before it takes others.
constexpr std::size_t kTimedAtOnce = 256;
/// So many plans are answered at once.
constexpr std::size_t kMostAhead = 4;
/// Of so many the bounds are prepared at once.
constexpr std::size_t kBoundedAtOnce = 16;
/// And so many are looked through for them, since bounds take time, too.
constexpr std::size_t kLookedThrough = 32;

struct Entry {
  const Field* field = nullptr;
  Candidate candidate;
  double floor = 0.0;
};

struct Failed {
  const Entry* entry = nullptr;
  Confirmed exactly;
};

int tier(const Candidate& c) {
  return static_cast<int>(c.method) * 2 + static_cast<int>(c.optim == Optim::adamw_8bit);
}

std::string sacrifice(const Candidate& c) {
  std::string out;
  if (c.method != Method::full) out = "trains adapters instead of all weights";
  if (c.method == Method::qlora) out += ", over weights rounded to 4 bits";
  if (c.optim == Optim::adamw_8bit)
    out += std::string(out.empty() ? "" : "; ") + "optimizer state of 8 bits";
  return out;
}

class Search {
 public:
  Search(std::vector<Field>& fields, const ModelRequest& model, const DeviceSetup& device,
         const SearchOptions& options)
      : fields_(fields), options_(options), confirmation_(model, device, options.workers) {}

  Result<PlanAnswer> run() {
    if (const auto laid = lay_out(); !laid) return tl::unexpected(laid.error());
    put_in_order();
    report_progress();
    walk();
    if (rows_.empty()) {
      if (const auto one = only_layout(); !one) return tl::unexpected(one.error());
    }
    finish();
    return std::move(answer_);
  }

 private:
  Result<void> lay_out() {
    std::string why;
    std::size_t depth = 0;
    for (const Field& field : fields_) {
      Points points = points_of(*field.space, *field.job);
      if (points.all.empty() && (why.empty() || points.depth > depth))
        why = std::move(points.deepest), depth = points.depth;
      time_all(points.all, *field.clock);
      for (const Candidate& c : points.all) entries_.push_back({&field, c, field.space->floor(c)});
    }
    answer_.screened = static_cast<std::int64_t>(entries_.size());
    if (!entries_.empty()) return {};
    return bad_input(why.empty() ? "nothing is left to plan" : why, "no plan is possible", "");
  }

  /// Each worker has a clock of its own.
  void time_all(std::vector<Candidate>& candidates, const Clock& clock) const {
    const std::size_t pieces = (candidates.size() + kTimedAtOnce - 1) / kTimedAtOnce;
    std::vector<std::unique_ptr<Clock>> others(options_.workers.count);
    options_.workers.share(pieces, [&](std::size_t worker, std::size_t piece) {
      if (worker > 0 && !others[worker]) others[worker] = clock.another();
      const Clock& own = worker > 0 ? *others[worker] : clock;
      const std::size_t from = piece * kTimedAtOnce;
      for (Candidate& c : std::span(candidates)
                              .subspan(from)
                              .first(std::min(kTimedAtOnce, candidates.size() - from)))
        c.seconds = own.seconds(c);
    });
  }

  double key(const Entry& e) const {
    switch (options_.objective) {
      case Objective::cost:
        return e.candidate.seconds * static_cast<double>(e.candidate.sizes.gpus);
      case Objective::headroom: return e.floor;
      default: return e.candidate.seconds;
    }
  }

  bool comes_before(const Entry& a, const Entry& b) const {
    if (tier(a.candidate) != tier(b.candidate)) return tier(a.candidate) < tier(b.candidate);
    if (options_.objective == Objective::gpus && a.candidate.sizes.gpus != b.candidate.sizes.gpus)
      return a.candidate.sizes.gpus < b.candidate.sizes.gpus;
    return key(a) < key(b);
  }

  void put_in_order() {
    const auto asked = entries_.begin() + (asks_for_one() ? 1 : 0);
    asks_for_first_ = asked != entries_.begin();
    std::stable_sort(asked, entries_.end(),
                     [this](const Entry& a, const Entry& b) { return comes_before(a, b); });
  }

  /// Whether the sizes are all said. The first point laid out is what they mean with nothing made
  /// again, whole stages and experts that are not cut; the others are its variants.
  bool asks_for_one() const {
    const Field& field = fields_.front();
    return fields_.size() == 1 && std::ranges::all_of(field.space->axes(), [&](Axis axis) {
             const bool varies = axis == Axis::vpp || axis == Axis::etp ||
                                 axis == Axis::checkpointing || axis == Axis::modules;
             return varies || field.job->pins.fixes(axis) ||
                    field.space->values(axis, entries_.front().candidate).size() <= 1;
           });
  }

  /// A place among what was not looked at: among those laid out, and the lighter ones of what did
  /// not fit.
  struct Place {
    std::size_t laid_out = 0, lighter = 0;
  };

  /// The best from `place` on, which moves behind it.
  const Entry* take(Place& place) const {
    const bool is_last = place.laid_out == entries_.size();
    const bool is_lighter =
        place.lighter < lighter_.size() &&
        (is_last || comes_before(*lighter_[place.lighter], entries_[place.laid_out]));
    if (is_lighter) return lighter_[place.lighter++];
    return is_last ? nullptr : &entries_[place.laid_out++];
  }

  const Entry* next() {
    Place place{next_, 0};
    const Entry* const best = take(place);
    if (place.lighter > 0) lighter_.erase(lighter_.begin());
    next_ = place.laid_out;
    return best;
  }

  /// Of a plan that does not fit well.
  void add_lighter(const Entry& entry) {
    if (entry.floor > static_cast<double>(entry.field->job->device_bytes)) return;
    for (Candidate& c : entry.field->space->lighter(entry.candidate, lacking_)) {
      c.seconds = entry.field->clock->seconds(c);
      const Entry* added = &added_.emplace_back(entry.field, c, entry.floor);
      lighter_.insert(std::ranges::upper_bound(
                          lighter_, added,
                          [this](const Entry* a, const Entry* b) { return comes_before(*a, *b); }),
                      added);
      ++answer_.screened;
    }
  }

  void walk() {
    int at_tier = 0;
    std::size_t of_tier = 0, quota = options_.top;
    std::size_t prepared = 0;
    while (const Entry* looked_at = next()) {
      const Entry& entry = *looked_at;
      if (options_.stopped()) {
        answer_.stopped = true;
        return;
      }
      if (tier(entry.candidate) != at_tier) {
        at_tier = tier(entry.candidate);
        of_tier = 0;
        if (!rows_.empty()) quota = kOfOthers;
        tight_ = 0;
      }
      if (of_tier >= quota) continue;
      if (prepared-- == 0) prepared = prepare_bounds(entry);
      const bool is_out = is_bounded_out(entry) || is_left_out(entry);
      answer_.bounded += is_out;
      if (is_out) note_out(entry);
      lacking_ = is_out ? lacking(entry) : 0.0;
      const std::size_t fitting = is_out ? 0 : confirm(entry, quota - of_tier);
      if (fitting == 0) add_lighter(entry);
      of_tier += fitting;
    }
  }

  /// Of the entry and those that are looked at after it; says of how many.
  std::size_t prepare_bounds(const Entry& entry) const {
    if (options_.workers.count < 2) return 0;
    std::map<const Field*, std::vector<Candidate>> next_ones;
    Place place{next_, 0};
    std::size_t after = 0;
    for (const Entry* one = &entry; one && after < kBoundedAtOnce; one = take(place), ++after)
      if (one->floor <= static_cast<double>(one->field->job->device_bytes))
        next_ones[one->field].push_back(one->candidate);
    for (const auto& [field, candidates] : next_ones)
      field->space->prepare(candidates, options_.workers);
    return after - 1;
  }

  /// Of the plans that would be better than the first that fits, and are not run, the one whose
  /// bound is lowest.
  void note_out(const Entry& entry) {
    const auto room = static_cast<double>(entry.field->job->device_bytes);
    if (has_one_that_fits_well() || tier(entry.candidate) > 0) return;
    const double least =
        entry.floor > room ? entry.floor : entry.field->space->close_floor(entry.candidate);
    if (least <= room || (nearest_out_ && nearest_bytes_ <= least)) return;
    nearest_out_ = &entry;
    nearest_bytes_ = least;
  }

  bool has_one_that_fits_well() const { return std::ranges::any_of(rows_, &PlanRow::fits_well); }

  bool is_bounded_out(const Entry& entry) const {
    const auto room = static_cast<double>(entry.field->job->device_bytes);
    if (entry.floor > room) return true;
    if (entry.field->space->close_floor(entry.candidate) > room) return true;
    return std::ranges::any_of(failed_, [&](const Failed& f) {
      return f.entry->field == entry.field && needs_no_less(entry.candidate, f.entry->candidate);
    });
  }

  /// It does not fit well, and enough of such plans are shown.
  bool is_left_out(const Entry& entry) const {
    if (tight_ < kOfTight) return false;
    const Field& field = *entry.field;
    const auto recipe = confirmation_.recipe(field.reading, field.space->layout(entry.candidate));
    return recipe && field.space->upper_floor(entry.candidate) >
                         static_cast<double>(confirmation_.surely_there(*recipe));
  }

  /// What a plan that is not run lacks at the least.
  double lacking(const Entry& entry) const {
    const auto room = static_cast<double>(entry.field->job->device_bytes);
    return std::max(0.0, entry.field->space->close_floor(entry.candidate) - room);
  }

  /// 1 where the plan fits.
  std::size_t confirm(const Entry& entry, std::size_t wanted) {
    const NamedValues layout = entry.field->space->layout(entry.candidate);
    Result<Confirmed> exactly = answer_to(entry, wanted);
    if (exactly && exactly->is_open && !has_one_that_fits_well())
      exactly = confirmation_.all_ranks(entry.field->reading, layout);
    const bool is_shown = exactly && exactly->fits && (exactly->fits_well() || tight_ < kOfTight);
    ++(exactly && exactly->of_sequences && !is_shown ? answer_.bounded : answer_.confirmed);
    ahead_ = std::min(ahead_ * 2, kMostAhead);
    if (!exactly) {
      if (refused_.empty()) refused_ = exactly.error().line();
      return 0;
    }
    if (!exactly->fits) return refuse(entry, *exactly);
    if (!exactly->fits_well() && tight_ >= kOfTight) return 0;
    ahead_ = exactly->fits_well() || tight_ >= kOfTight ? kMostAhead : 1;
    if (exactly->gives_back()) {
      exactly = confirmation_.all_ranks(entry.field->reading, layout);
      if (!exactly) return 0;
      if (!exactly->fits) return refuse(entry, *exactly);
    }
    PlanRow row = row_of(entry, layout, &*exactly);
    const bool fits_well = row.fits_well();
    remember(*exactly);
    if (fits_well || tight_++ < kOfTight) {
      rows_.push_back(std::move(row));
      shown_.push_back(&entry);
    }
    report_progress();
    return fits_well ? 1 : 0;
  }

  /// The next ones are answered beside it, as many as are still wanted; but one by one while those
  /// that fit badly are found, since others are then left out.
  Result<Confirmed> answer_to(const Entry& entry, std::size_t wanted) {
    if (!answered_.contains(&entry)) {
      std::vector<const Entry*> asked;
      std::vector<Confirmation::Asked> layouts;
      const std::size_t workers = options_.workers.count;
      const std::size_t most = workers > 1 ? std::min(std::max(wanted, workers), ahead_) : 1;
      Place place{next_, 0};
      std::size_t looked_through = 0;
      for (const Entry* one = &entry; one && asked.size() < most; one = take(place)) {
        if (++looked_through > kLookedThrough) break;
        if (tier(one->candidate) != tier(entry.candidate)) break;
        if (one != &entry && (answered_.contains(one) || is_bounded_out(*one) || is_left_out(*one)))
          continue;
        asked.push_back(one);
        const Space& space = *one->field->space;
        layouts.push_back({confirmation_.recipe(one->field->reading, space.layout(one->candidate)),
                           space.likely_stage(one->candidate), fewer_sequences(*one)});
      }
      std::vector<Result<Confirmed>> answers =
          confirmation_.until_too_large(layouts, tight_ >= kOfTight);
      for (std::size_t i = 0; i < asked.size(); ++i)
        answered_.emplace(asked[i], std::move(answers[i]));
    }
    return std::move(answered_.extract(&entry).mapped());
  }

  static std::optional<std::int64_t> fewer_sequences(const Entry& entry) {
    const auto telling = telling_micro_batches(entry.candidate.sizes);
    if (!telling) return std::nullopt;
    return entry.field->job->global_batch / entry.candidate.sizes.micro_batches * *telling;
  }

  std::size_t refuse(const Entry& entry, const Confirmed& exactly) {
    lacking_ = static_cast<double>(std::max<Bytes>(0, -exactly.headroom_bytes));
    failed_.push_back({&entry, exactly});
    remember(exactly);
    report_progress();
    return 0;
  }

  void remember(const Confirmed& exactly) {
    if (answer_.model.id.empty()) answer_.model = exactly.model;
    if (exactly.device) answer_.device = exactly.device;
    if (answer_.workload.empty()) answer_.workload = exactly.workload;
    for (const std::string& warning : exactly.warnings)
      if (std::ranges::find(answer_.warnings, warning) == answer_.warnings.end())
        answer_.warnings.push_back(warning);
  }

  void report_progress() const {
    options_.progress({answer_.screened, answer_.bounded, answer_.confirmed,
                       static_cast<std::int64_t>(rows_.size())});
  }

  PlanRow row_of(const Entry& entry, const NamedValues& layout, const Confirmed* exactly) const {
    PlanRow row;
    row.layout = layout;
    row.words = in_words(entry.candidate);
    row.framework = std::string(entry.candidate.framework->name);
    row.gpus = entry.candidate.sizes.gpus;
    row.micro_batches = entry.candidate.sizes.micro_batches;
    Timing timing = entry.field->clock->timing(entry.candidate);
    row.step_seconds = timing.seconds;
    row.tokens_per_second = timing.tokens_per_second;
    row.mfu = timing.mfu;
    row.time = std::move(timing.parts);
    row.sacrifice = sacrifice(entry.candidate);
    if (options_.price_per_hour)
      row.cost_per_hour = *options_.price_per_hour * static_cast<double>(row.gpus);
    if (exactly) say_memory(row, entry, *exactly);
    return row;
  }

  static void say_memory(PlanRow& row, const Entry& entry, const Confirmed& exactly) {
    row.peak_device_bytes = exactly.peak_device_bytes;
    row.within_limit_bytes.reset();
    row.run_micro_batches.reset();
    if (exactly.of_sequences)
      row.run_micro_batches = *exactly.of_sequences * entry.candidate.sizes.micro_batches /
                              entry.field->job->global_batch;
    if (exactly.device) {
      if (exactly.fits && exactly.within_limit_bytes != exactly.peak_device_bytes)
        row.within_limit_bytes = exactly.within_limit_bytes;
      row.headroom_bytes = exactly.headroom_bytes;
      row.fits = exactly.fits;
      row.verdict = exactly.verdict;
    }
    row.peak_rank = exactly.peak_rank;
  }

  bool fixes_sizes(const Field& field) const {
    return std::ranges::all_of(field.space->axes(), [&](Axis axis) {
      const bool is_size = axis == Axis::tp || axis == Axis::cp || axis == Axis::pp ||
                           axis == Axis::ep || axis == Axis::micro_batch;
      const bool is_moot = axis == Axis::ep && field.job->facts.experts == 0;
      return !is_size || is_moot || field.job->pins.fixes(axis);
    });
  }

  /// Nothing fits. A layout whose sizes are all said is answered all the same.
  Result<void> only_layout() {
    const Entry& best = entries_.front();
    const bool asks_for_one = entries_.size() == 1 || fixes_sizes(*best.field);
    if (!asks_for_one) {
      if (failed_.empty() && !refused_.empty()) return bad_input(refused_, "plan", "");
      return {};
    }
    const NamedValues layout = best.field->space->layout(best.candidate);
    const auto exactly = confirmation_.all_ranks(best.field->reading, layout);
    if (!exactly && exactly.error().kind == ErrorKind::bad_input)
      return tl::unexpected(exactly.error());
    if (!exactly) answer_.warnings.push_back("memory: " + exactly.error().line());
    rows_.push_back(row_of(best, layout, exactly ? &*exactly : nullptr));
    if (exactly) remember(*exactly);
    return {};
  }

  /// Of the plans that would be better than the best shown the one that lacks least; if none was
  /// run, that whose bound is lowest. What a plan was found to lack when it was refused is the least
  /// that it lacks.
  void find_why_not() {
    if (!rows_.empty() && rows_.front().fits == false) return;
    std::vector<const Failed*> better;
    for (const Failed& failed : failed_)
      if (rows_.empty() || failed.entry->candidate.seconds < rows_.front().step_seconds.mid)
        better.push_back(&failed);
    if (better.empty() && nearest_out_ && failed_.empty()) {
      failed_.push_back({nearest_out_, {}});
      failed_.back().exactly.headroom_bytes = std::numeric_limits<Bytes>::min();
      better.push_back(&failed_.back());
    }
    std::ranges::stable_sort(better, std::ranges::greater(),
                             [](const Failed* f) { return f->exactly.headroom_bytes; });
    Failed nearest;
    for (const Failed* failed : better) {
      if (nearest.entry && nearest.exactly.headroom_bytes >= failed->exactly.headroom_bytes) break;
      const Field& field = *failed->entry->field;
      std::optional<Bytes> at_most;  // more, and the one that was found before lacks less
      if (nearest.entry) at_most = nearest.exactly.peak_device_bytes;
      const auto all =
          confirmation_.all_ranks(field.reading, field.space->layout(failed->entry->candidate),
                                  fewer_sequences(*failed->entry), at_most);
      if (failed->entry == nearest_out_ && (!all || all->fits)) return;
      const Confirmed& exactly = all ? *all : failed->exactly;
      if (answer_.workload.empty()) remember(exactly);
      if (!nearest.entry || exactly.headroom_bytes > nearest.exactly.headroom_bytes)
        nearest = {failed->entry, exactly};
    }
    if (!nearest.entry) return;
    const NamedValues layout = nearest.entry->field->space->layout(nearest.entry->candidate);
    answer_.why_not.push_back({row_of(*nearest.entry, layout, &nearest.exactly),
                               -nearest.exactly.headroom_bytes, nearest.exactly.peak_rank});
  }

  /// What became of the layouts that people expect, where no plan that is shown is of their kind.
  void find_expected() {
    if (shown_.empty() || options_.stopped() || entries_.size() <= options_.top) return;
    for (const Expected& kind : expected_layouts(fields_, options_.explains)) {
      const auto is_of_kind = [&kind](const Entry* e) { return kind.is_so(e->candidate); };
      if (std::ranges::any_of(shown_, is_of_kind)) continue;
      if (const Entry* found = best_of(kind)) say_of_expected(kind.what, *found);
    }
  }

  /// The fastest that may fit; else the one that surely needs least.
  const Entry* best_of(const Expected& kind) const {
    const Entry* least = nullptr;
    for (const Entry& e : entries_) {
      if (tier(e.candidate) > 0 || !kind.is_so(e.candidate)) continue;
      if (!is_bounded_out(e)) return &e;
      if (!least || e.floor < least->floor) least = &e;
    }
    return least;
  }

  void say_of_expected(std::string_view what, const Entry& entry) {
    const Field& field = *entry.field;
    const NamedValues layout = field.space->layout(entry.candidate);
    const bool all = options_.explains;
    const auto sequences = fewer_sequences(entry);
    const auto found = all ? confirmation_.all_ranks(field.reading, layout, sequences)
                           : confirmation_.one_rank(field.reading, layout, 0, sequences);
    if (!found) return;
    ExpectedLayout expected{.what = std::string(what),
                            .plan = row_of(entry, layout, &*found),
                            .more = entry.candidate.seconds / rows_.front().step_seconds.mid - 1.0,
                            .is_of_all_ranks = all};
    answer_.warnings.push_back(report::sentence(expected));
    answer_.expected.push_back(std::move(expected));
  }

  /// One line of what no plan was made of.
  void say_left_out() {
    std::vector<std::string> said;
    for (const Field& field : fields_) {
      if (field.space->left_out().empty()) continue;
      std::string one =
          fmt::format("{} ({})", field.space->left_out(), field.job->recipe.framework->name);
      if (std::ranges::find(said, one) == said.end()) said.push_back(std::move(one));
    }
    if (!said.empty() && entries_.size() > 1)
      answer_.warnings.push_back(fmt::format("Not searched: {}.", fmt::join(said, "; ")));
  }

  /// The entry of a row, which lost it when the rows were sorted.
  const Entry* entry_of(const PlanRow& row) const {
    for (const Entry* one : shown_)
      if (row.framework == one->candidate.framework->name &&
          row.layout == one->field->space->layout(one->candidate))
        return one;
    return nullptr;
  }

  /// Runs all micro-batches of a row; false where they do not fit.
  bool run_all(PlanRow& row) {
    const Entry* const entry = entry_of(row);
    if (!entry || !row.run_micro_batches || options_.stopped()) return true;
    const auto exactly = confirmation_.all_ranks(entry->field->reading, row.layout);
    if (!exactly) return true;
    remember(*exactly);
    say_memory(row, *entry, *exactly);
    return exactly->fits;
  }

  /// The first row, in its place the next where it does not fit, and the one that is written.
  void run_shown() {
    while (!rows_.empty() && !run_all(rows_.front()) && rows_.size() > 1) {
      rows_.erase(rows_.begin());
      answer_.asked_first = false;
    }
    if (options_.written <= rows_.size()) run_all(rows_[options_.written - 1]);
    if (const Entry* const first = rows_.empty() ? nullptr : entry_of(rows_.front()))
      rows_.front().stages = first->field->clock->stages(first->candidate);
  }

  void sort_rows() {
    const auto better = [this](const PlanRow& a, const PlanRow& b) {
      if (a.sacrifice != b.sacrifice && (a.sacrifice.empty() || b.sacrifice.empty()))
        return a.sacrifice.empty();
      if (a.fits_well() != b.fits_well()) return a.fits_well();
      if (options_.objective == Objective::headroom)
        return a.headroom_bytes.value_or(0) > b.headroom_bytes.value_or(0);
      if (options_.objective == Objective::gpus && a.gpus != b.gpus) return a.gpus < b.gpus;
      const bool by_cost = options_.objective == Objective::cost;
      return a.step_seconds.mid * static_cast<double>(by_cost ? a.gpus : 1) <
             b.step_seconds.mid * static_cast<double>(by_cost ? b.gpus : 1);
    };
    std::stable_sort(rows_.begin() + (answer_.asked_first ? 1 : 0), rows_.end(), better);
  }

  void finish() {
    answer_.asked_first = asks_for_first_ && !shown_.empty() && shown_.front() == &entries_.front();
    sort_rows();
    run_shown();
    find_why_not();
    find_expected();
    say_left_out();
    answer_.plans = std::move(rows_);
    answer_.pareto = pareto_front(answer_.plans);
    answer_.objective = std::string(kObjectives.at(static_cast<std::size_t>(options_.objective)));
  }

  std::vector<Field>& fields_;
  const SearchOptions& options_;
  const Confirmation confirmation_;
  std::vector<Entry> entries_;
  bool asks_for_first_ = false;  ///< of entries_, which is answered before its variants
  std::size_t next_ = 0;         ///< of entries_
  std::deque<Entry> added_;
  std::vector<const Entry*> lighter_;  ///< of added_, those that were not looked at, in order
  std::vector<Failed> failed_;
  std::vector<PlanRow> rows_;
  std::vector<const Entry*> shown_;                     ///< what rows_ were made of
  std::map<const Entry*, Result<Confirmed>> answered_;  ///< not yet looked at
  std::size_t ahead_ = 1;                               ///< how many plans are answered at once
  std::size_t tight_ = 0;                               ///< of those that fit, but not well
  double lacking_ = 0.0;                                ///< of what was looked at last
  const Entry* nearest_out_ = nullptr;                  ///< note_out
  double nearest_bytes_ = 0.0;
  std::string refused_;  ///< what a program refused that its space did not
  PlanAnswer answer_;
};

}  // namespace

Result<Objective> objective_named(const std::string& word) {
  const auto found = std::ranges::find(kObjectives, word);
  if (found != kObjectives.end()) return static_cast<Objective>(found - kObjectives.begin());
  return bad_input(fmt::format("unusable value \"{}\"", word), "--objective",
                   suggestion(word, kObjectives));
}

std::string_view name(Objective objective) {
  return kObjectives.at(static_cast<std::size_t>(objective));
}

Result<PlanAnswer> search_plans(std::vector<Field>& fields, const ModelRequest& model,
                                const DeviceSetup& device, const SearchOptions& options) {
  return Search(fields, model, device, options).run();
}

}  // namespace memtape::plan
