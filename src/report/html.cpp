// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/headline.h"
#include "report/html_assets.h"
#include "report/html_page.h"
#include "report/in_flight.h"
#include "report/json_parts.h"
#include "report/measured_step.h"
#include "report/rank_grid.h"
#include "report/why.h"

namespace memtape::report {
namespace {

constexpr std::string_view kModulePlaceholder =
    "{module}";  ///< the page puts the path in its place

/// Values numbered in order of first use.
template <class Key>
class Index {
 public:
  std::int64_t of(const Key& key) {
    const auto [at, fresh] = numbers_.try_emplace(key, static_cast<std::int64_t>(keys_.size()));
    if (fresh) keys_.push_back(key);
    return at->second;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, std::int64_t> numbers_;
  std::vector<Key> keys_;
};

/// Writes the step: its blocks numbered from 0, those alive at the start first, and reasons told
/// once.
class StepData {
 public:
  StepData(const Trace& trace, TensorNames names, JsonWriter& out)
      : trace_(trace), names_(names), step_(measured_step(trace)), out_(out) {}

  void write(const RankReport& rank, std::optional<Bytes> limit) {
    out_.begin_object();
    collect();
    out_.member("alive", static_cast<std::int64_t>(alive_));
    write_events();
    write_reserved();
    write_windows();
    write_blocks();
    write_reasons();
    out_.key("limit");
    limit ? out_.value(*limit) : out_.null();
    const std::size_t peak =
        std::clamp(rank.peak_moment.event, step_.first, std::max(step_.first, step_.last - 1));
    out_.member("peak_event", static_cast<std::int64_t>(peak - step_.first));
    out_.end_object();
  }

 private:
  static constexpr std::int64_t kAbsent = -1;
  using Reason = std::tuple<Category, Phase, std::string_view, std::string_view, ScopeId,
                            decltype(DisplayShape::dims), std::uint8_t, DType>;

  void collect() {
    number_.assign(trace_.tape.requested.size(), kAbsent);
    for (BlockId id : step_.at_start) add(id);
    alive_ = blocks_.size();
    for (std::size_t i = step_.first; i < step_.last; ++i)
      if (trace_.tape.events[i].kind == EventKind::alloc) add(trace_.tape.events[i].block);
  }

  void add(BlockId id) {
    if (size_in_allocator(trace_, id) == 0) return;
    number_[id] = static_cast<std::int64_t>(blocks_.size());
    blocks_.push_back(id);
  }

  void write_events() {
    out_.key("events");
    out_.begin_array();
    for (std::size_t i = step_.first; i < step_.last; ++i) {
      const Event& e = trace_.tape.events[i];
      const bool of_block = e.kind == EventKind::alloc || e.kind == EventKind::free;
      const std::int64_t number = of_block ? number_[e.block] + 1 : 0;
      out_.value(e.kind == EventKind::free ? -number : number);
    }
    out_.end_array();
  }

  /// Reserved bytes at the start, and [event, bytes] wherever they change.
  void write_reserved() {
    StepWalk walk(trace_, step_);
    Bytes now = walk.levels().reserved;
    out_.member("reserved_at_start", now);
    out_.key("reserved");
    out_.begin_array();
    while (walk.next()) {
      if (walk.levels().reserved == now) continue;
      now = walk.levels().reserved;
      out_.begin_array();
      out_.value(static_cast<std::int64_t>(walk.event() - step_.first));
      out_.value(now);
      out_.end_array();
    }
    out_.end_array();
  }

  void write_windows() {
    out_.key("windows");
    out_.begin_array();
    for (const Window& w : step_.windows) {
      out_.begin_array();
      out_.value(name(w.mark.phase));
      out_.value(w.mark.micro_batch);
      out_.value(static_cast<std::int64_t>(w.first_event - step_.first));
      out_.value(static_cast<std::int64_t>(w.last_event - step_.first));
      out_.value(w.mark.stage);
      out_.end_array();
    }
    out_.end_array();
  }

  void write_blocks() {
    out_.key("sizes");
    out_.begin_array();
    for (BlockId id : blocks_) out_.value(trace_.sizes[id]);
    out_.end_array();
    out_.key("why");
    out_.begin_array();
    for (BlockId id : blocks_) {
      const Why w = trace_.tape.why[id];
      out_.value(reasons_.of(
          Reason(w.category, w.phase, w.op, w.node, w.scope, w.shape.dims, w.shape.rank, w.dtype)));
    }
    out_.end_array();
  }

  void write_reasons() {
    Index<ScopeId> modules;
    Index<std::string> sentences;
    out_.key("whys");
    out_.begin_array();
    for (const Reason& reason : reasons_.keys()) {
      const auto& [category, phase, op, node, scope, dims, rank, dtype] = reason;
      const Why why{op.data(), node.data(), scope,      category,
                    phase,     dtype,       Role::none, {dims, rank}};
      out_.begin_array();
      out_.value(static_cast<int>(category));
      out_.value(name(phase));
      out_.value(op);
      out_.value(node);
      out_.value(modules.of(scope));
      out_.begin_array();
      for (std::uint8_t i = 0; i < rank; ++i) out_.value(std::int64_t{dims[i]});
      out_.end_array();
      out_.value(name(dtype));
      out_.value(sentences.of(sentence(why)));
      out_.end_array();
    }
    out_.end_array();
    write_texts("modules", modules.keys(),
                [this](ScopeId id) { return trace_.tape.scopes.path(id); });
    write_texts("sentences", sentences.keys(), [](const std::string& text) { return text; });
  }

  std::string sentence(const Why& why) const {
    if (names_ == TensorNames::by_module) return why_sentence(why, kModulePlaceholder);
    return why.op[0] ? "allocated by this place, called from {module}"
                     : "allocated without Python: by autograd's thread";
  }

  template <class Keys, class Text>
  void write_texts(std::string_view key, const Keys& keys, Text text) {
    out_.key(key);
    out_.begin_array();
    for (const auto& k : keys) out_.value(text(k));
    out_.end_array();
  }

  const Trace& trace_;
  TensorNames names_;
  MeasuredStep step_;
  JsonWriter& out_;
  std::size_t alive_ = 0;
  std::vector<BlockId> blocks_;
  std::vector<std::int64_t> number_;  ///< by BlockId
  Index<Reason> reasons_;
};

std::vector<std::string> notes(const Prediction& p) {
  std::vector<std::string> all;
  if (!p.nothing_helps.empty()) all.push_back(p.nothing_helps);
  for (const Advice& a : p.advice)
    if (!a.fits)
      all.push_back(fmt::format("{}: {}, costs {}", a.change, gib(a.peak_device_bytes), a.cost));
  if (!p.bounds.has_upper_end)
    all.push_back(fmt::format("At least {}, and no upper end is known: {}", gib(p.bounds.low_bytes),
                              fmt::join(p.bounds.causes, "; ")));
  else if (p.bounds.low_bytes != p.bounds.high_bytes)
    all.push_back(fmt::format("Between {} and {}: {}", gib(p.bounds.low_bytes),
                              gib(p.bounds.high_bytes), fmt::join(p.bounds.causes, "; ")));
  all.insert(all.end(), p.warnings.begin(), p.warnings.end());
  return all;
}

/// What the verdict needs to be told with.
std::vector<std::string> reasons(const Prediction& p) {
  std::vector<std::string> all;
  const RankReport& rank = peak_rank(p);
  if (p.failure) all.push_back(failure_in_words(*p.failure));
  if (const auto needed = before_the_step(p))
    all.push_back(
        fmt::format("{} takes {}; a step afterwards takes {}.",
                    p.failure->phase == Phase::init ? "Making the model" : "What comes before it",
                    gib(*needed), gib(rank.peak_device_bytes)));
  else if (p.within_limit_bytes)
    all.push_back(
        fmt::format("The allocator gives cached segments back on the way: without the "
                    "limit it would hold {}.",
                    gib(rank.peak_device_bytes)));
  if (p.verdict == VerdictWord::may_not_fit && p.bounds.has_upper_end)
    all.push_back(fmt::format("It needs between {} and {}. What decides: {}.",
                              gib(p.bounds.low_bytes), gib(p.bounds.high_bytes),
                              fmt::join(p.bounds.causes, "; ")));
  return all;
}

void write_answer(JsonWriter& out, const Prediction& p, const RankReport& rank) {
  out.member("model", p.model.id);
  std::vector<std::string> settings = taken_in_words(p.workload);
  std::ranges::move(settings_in_words(p), std::back_inserter(settings));
  write_lines(out, "settings", settings);
  out.key("categories");
  out.begin_array();
  for (std::string_view c : kCategoryNames) out.value(c);
  out.end_array();
  out.key("at_peak");
  out.begin_array();
  for (Bytes b : rank.at_peak.bytes) out.value(b);
  out.end_array();
  out.member("peak_device", rank.peak_device_bytes);
  out.member("peak_reserved", rank.peak.reserved);
  out.member("peak_allocated", rank.peak.allocated);
  out.member("peak_phase", name(rank.peak_phase));
  out.member("fits", p.fits.value_or(true));
  out.member("verdict",
             name(p.verdict.value_or(p.fits.value_or(true) ? VerdictWord::fits
                                                           : VerdictWord::does_not_fit)));
  out.member("verdict_in_words", verdict_in_words(p));
  out.member("needs", needed(p));
  member_or_null(out, "room", p.headroom_bytes);
  write_lines(out, "reasons", reasons(p));
  out.key("advice");
  out.begin_array();
  for (const Advice& a : p.advice) {
    if (!a.fits || a.command.empty()) continue;
    out.begin_object();
    out.member("command", a.command);
    out.member("peak", a.peak_device_bytes);
    out.member("cost", a.cost);
    out.end_object();
  }
  out.end_array();
  out.key("device");
  if (p.device) {
    out.begin_object();
    out.member("name", p.device->name);
    out.member("total", p.device->total_bytes);
    out.end_object();
  } else {
    out.null();
  }
}

void write_labelled_levels(JsonWriter& out, std::string_view label, const Levels& levels) {
  out.begin_object();
  out.member("name", label);
  out.key("levels");
  out.begin_array();
  for (Bytes b : {levels.requested, levels.allocated, levels.reserved}) out.value(b);
  out.end_array();
  out.end_object();
}

void write_tables(JsonWriter& out, const Prediction& p, const RankReport& rank) {
  out.key("phases");
  out.begin_array();
  for (const PhaseReport& phase : rank.phases)
    write_labelled_levels(out, name(phase.phase), phase.peak);
  write_labelled_levels(out, "between steps", rank.steady);
  out.end_array();
  out.key("largest");
  out.begin_array();
  for (const LargestTensor& t : rank.largest) {
    out.begin_object();
    out.member("category", name(t.category));
    out.member("module", t.module);
    out.member("op", t.op);
    out.key("shape");
    out.begin_array();
    for (std::int64_t d : t.shape) out.value(d);
    out.end_array();
    out.member("dtype", t.dtype);
    out.member("count", t.count);
    out.member("bytes", t.bytes);
    out.member("why", t.why);
    out.end_object();
  }
  out.end_array();
  write_lines(out, "notes", notes(p));
}

/// What every stage of a pipeline runs, and how many micro-batches it has alive at most.
void write_schedule(JsonWriter& out, const Prediction& p) {
  out.key("schedule");
  out.begin_array();
  for (const StageSchedule& stage : stage_schedules(p.ranks)) {
    out.begin_array();
    out.value(stage.stage);
    out.value(stage.passes);
    out.value(stage.most_alive);
    out.end_array();
  }
  out.end_array();
}

/// The ranks as a grid, where they differ; and when each micro-batch of a pipeline is alive.
void write_ranks(JsonWriter& out, const Prediction& p, const Trace& trace) {
  constexpr std::size_t kMostCells = 256;
  out.key("grid");
  out.begin_array();
  if (p.ranks.size() > 1)
    for (const RankGrid::Row& row : rank_grid(p.ranks, kMostCells).rows) {
      out.begin_object();
      out.member("stage", row.stage);
      out.key("cells");
      out.begin_array();
      for (std::size_t i = 0; i < row.peaks.size(); ++i) {
        out.begin_array();
        out.value(static_cast<std::int64_t>(row.first_rank[i]));
        out.value(row.peaks[i]);
        out.end_array();
      }
      out.end_array();
      out.end_object();
    }
  out.end_array();
  const MeasuredStep step = measured_step(trace);
  out.key("flights");
  out.begin_array();
  for (const InFlight& flight : micro_batches_in_flight(step.windows)) {
    out.begin_array();
    for (const std::size_t value :
         {static_cast<std::size_t>(flight.stage), static_cast<std::size_t>(flight.micro_batch),
          flight.from - step.first, flight.to - step.first})
      out.value(static_cast<std::int64_t>(value));
    out.end_array();
  }
  out.end_array();
}

}  // namespace

std::string html_data(const Prediction& p, const Trace& trace, TensorNames names) {
  const RankReport& rank = peak_rank(p);
  std::optional<Bytes> limit;
  if (p.device) limit = p.device->total_bytes - (rank.peak_device_bytes - rank.peak.reserved);
  JsonWriter out(JsonWriter::Layout::compact);
  out.begin_object();
  out.member("by_place", names == TensorNames::by_place);
  write_answer(out, p, rank);
  write_tables(out, p, rank);
  write_ranks(out, p, trace);
  write_schedule(out, p);
  out.key("step");
  StepData(trace, names, out).write(rank, limit);
  out.end_object();
  return std::move(out).take();
}

std::string html(const Prediction& prediction, const Trace& trace, TensorNames names) {
  const std::string script = std::string(kScript).append("\n").append(kScheduleScript);
  return html_page(kPage, script, html_data(prediction, trace, names));
}

}  // namespace memtape::report
