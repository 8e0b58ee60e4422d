// SPDX-License-Identifier: Apache-2.0
#include "report/json.h"

#include "report/headline.h"
#include "report/in_flight.h"
#include "report/json_parts.h"

namespace memtape::report {
namespace {

void write_shape(JsonWriter& out, const std::vector<std::int64_t>& shape) {
  out.key("shape");
  out.begin_row();
  for (std::int64_t d : shape) out.value(d);
  out.end_array();
}

void write_tensor(JsonWriter& out, const LargestTensor& tensor) {
  out.begin_object();
  out.member("category", name(tensor.category));
  out.member("module", tensor.module);
  out.member("op", tensor.op);
  write_shape(out, tensor.shape);
  out.member("dtype", tensor.dtype);
  out.member("count", tensor.count);
  out.member("bytes", tensor.bytes);
  out.member("why", tensor.why);
  out.end_object();
}

void write_phase_reports(JsonWriter& out, const std::vector<PhaseReport>& phases) {
  out.begin_object();
  for (const PhaseReport& p : phases) {
    out.key(name(p.phase));
    out.begin_object();
    write(out, "peak", p.peak);
    out.key("at_peak");
    write(out, p.at_peak);
    out.end_object();
  }
  out.end_object();
}

void write_peak_moment(JsonWriter& out, const PeakMoment& moment) {
  out.begin_object();
  out.member("event", static_cast<std::int64_t>(moment.event));
  out.member("module", moment.module);
  out.member("op", moment.op);
  out.member("node", moment.node);
  out.end_object();
}

void write_outside(JsonWriter& out, const OutsideMemory& item) {
  out.begin_object();
  out.member("what", item.what);
  out.member("counted_bytes", item.counted_bytes);
  out.member("low_bytes", item.low_bytes);
  out.member("high_bytes", item.high_bytes);
  out.member("source", item.source);
  out.end_object();
}

void write_rank(JsonWriter& out, const RankReport& rank, const std::string& schedule) {
  out.begin_object();
  out.key("ranks");
  out.begin_row();
  for (int r : rank.ranks) out.value(r);
  out.end_array();
  out.member("stage", rank.stage);
  if (!schedule.empty()) out.member("schedule", schedule);
  out.member("parameter_bytes", rank.parameter_bytes);
  out.member("buffer_bytes", rank.buffer_bytes);
  out.member("optimizer_state_bytes", rank.optimizer_state_bytes);
  out.member("gradient_bytes", rank.gradient_bytes);
  write(out, "peak", rank.peak);
  out.member("peak_device_bytes", rank.peak_device_bytes);
  out.member("peak_phase", name(rank.peak_phase));
  out.key("peak_moment");
  write_peak_moment(out, rank.peak_moment);
  write(out, "steady", rank.steady);
  out.key("at_peak");
  write(out, rank.at_peak);
  out.key("phases");
  write_phase_reports(out, rank.phases);
  out.key("largest");
  out.begin_array();
  for (const LargestTensor& tensor : rank.largest) write_tensor(out, tensor);
  out.end_array();
  out.key("outside");
  out.begin_array();
  for (const OutsideMemory& item : rank.outside) write_outside(out, item);
  out.end_array();
  out.end_object();
}

void write_failure(JsonWriter& out, const std::optional<Failure>& failure) {
  if (!failure) return out.null();
  out.begin_object();
  out.member("step", failure->step);
  out.member("phase", name(failure->phase));
  out.member("module", failure->module);
  out.member("op", failure->op);
  write_shape(out, failure->shape);
  out.member("dtype", failure->dtype);
  out.member("requested_bytes", failure->requested);
  out.member("segment_bytes", failure->segment);
  write(out, "held", failure->levels);
  out.end_object();
}

void write_rules(JsonWriter& out, std::span<const RuleOfThumb> rules) {
  out.key("rules");
  out.begin_array();
  for (const RuleOfThumb& rule : rules) {
    out.begin_object();
    out.member("name", rule.name);
    out.member("formula", rule.formula);
    out.member("source", rule.source);
    out.member("says_bytes", rule.says);
    out.member("of", rule.of);
    out.member("exact_bytes", rule.exact);
    out.member("why", rule.why);
    out.end_object();
  }
  out.end_array();
}

}  // namespace

std::string json(const Prediction& p, std::span<const RuleOfThumb> rules) {
  JsonWriter out(JsonWriter::Layout::pretty);
  const auto part = [&out](std::string_view name, const auto& what) {
    out.key(name);
    write(out, what);
  };
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", p.command);
  out.member("source", p.source);
  part("model", p.model);
  part("workload", p.workload);
  part("mesh", p.mesh);
  part("device", p.device);
  out.key("ranks");
  out.begin_array();
  const bool has_schedule = !stage_schedules(p.ranks).empty();
  for (const RankReport& rank : p.ranks)
    write_rank(out, rank, has_schedule ? passes_text(rank.passes) : std::string());
  out.end_array();
  out.member("peak_rank", p.peak_rank);
  member_or_null(out, "fits", p.fits);
  write(out, p.verdict);
  member_or_null(out, "headroom_bytes", p.headroom_bytes);
  out.member("needed_bytes", needed(p));
  member_or_null(out, "within_limit_bytes", p.within_limit_bytes);
  out.key("failure");
  write_failure(out, p.failure);
  part("bounds", p.bounds);
  part("advice", p.advice);
  if (!p.nothing_helps.empty()) out.member("nothing_helps", p.nothing_helps);
  part("warnings", p.warnings);
  if (!rules.empty()) write_rules(out, rules);
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::report
