// SPDX-License-Identifier: Apache-2.0
#include "report/plan_json.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/json_parts.h"
#include "report/json_writer.h"

namespace memtape::report {
namespace {

/// Six digits: an estimate has no more.
std::string six_digits(double value) { return fmt::format("{:.6g}", value); }

void write_range(JsonWriter& out, std::string_view key, const SecondsRange& range) {
  write_seconds(out, key, range.low, range.mid, range.high);
}

void number_or_null(JsonWriter& out, std::string_view key, const std::optional<double>& value) {
  out.key(key);
  value ? out.raw(six_digits(*value)) : out.null();
}

/// What each stage computes and waits, until the last of them is done.
void write_stages(JsonWriter& out, const std::vector<PlanStage>& stages) {
  if (stages.empty()) return;
  const double end = end_of(stages);
  out.key("stages");
  out.begin_array();
  for (const PlanStage& stage : stages) {
    const double forward = stage.seconds(false), backward = stage.seconds(true);
    out.begin_object();
    const std::pair<std::string_view, double> all[] = {{"forward_seconds", forward},
                                                       {"backward_seconds", backward},
                                                       {"waits_seconds", end - forward - backward}};
    for (const auto& [name, seconds] : all) {
      out.key(name);
      out.raw(six_digits(std::max(seconds, 0.0)));
    }
    out.end_object();
  }
  out.end_array();
}

void write_members(JsonWriter& out, const PlanRow& plan) {
  out.key("layout");
  out.begin_object();
  for (const auto& [name, value] : plan.layout) out.member(name, value);
  out.end_object();
  out.member("framework", plan.framework);
  out.member("gpus", plan.gpus);
  if (plan.ttft) write_range(out, "ttft_seconds", *plan.ttft);
  if (plan.tpot) write_range(out, "tpot_seconds", *plan.tpot);
  if (plan.users) out.member("users", *plan.users);
  if (!plan.ttft) write_range(out, "step_seconds", plan.step_seconds);
  out.key("tokens_per_second");
  out.raw(six_digits(plan.tokens_per_second));
  number_or_null(out, "mfu", plan.mfu);
  member_or_null(out, "peak_device_bytes", plan.peak_device_bytes);
  if (plan.run_micro_batches) out.member("run_micro_batches", *plan.run_micro_batches);
  if (plan.within_limit_bytes) out.member("within_limit_bytes", *plan.within_limit_bytes);
  member_or_null(out, "headroom_bytes", plan.headroom_bytes);
  member_or_null(out, "fits", plan.fits);
  write(out, plan.verdict);
  out.member("peak_rank", plan.peak_rank);
  if (plan.cost_per_hour) number_or_null(out, "cost_per_hour", plan.cost_per_hour);
  if (!plan.sacrifice.empty()) out.member("sacrifice", plan.sacrifice);
  out.key("time");
  out.begin_array();
  for (const PlanTime& part : plan.time) {
    out.begin_object();
    out.member("what", part.name);
    out.key("seconds");
    out.raw(six_digits(part.seconds));
    out.end_object();
  }
  out.end_array();
  write_stages(out, plan.stages);
  out.key("command");
  out.begin_row();
  for (const std::string& word : plan.command) out.value(word);
  out.end_array();
  if (!plan.launch.empty()) out.member("launch", plan.launch);
}

void write_why_not(JsonWriter& out, const std::vector<WhyNot>& all) {
  out.key("why_not");
  out.begin_array();
  for (const WhyNot& one : all) {
    out.begin_object();
    write_members(out, one.plan);
    out.member("missing_bytes", one.missing_bytes);
    out.end_object();
  }
  out.end_array();
}

void write_expected(JsonWriter& out, const std::vector<ExpectedLayout>& all) {
  if (all.empty()) return;
  out.key("expected");
  out.begin_array();
  for (const ExpectedLayout& one : all) {
    out.begin_object();
    out.member("what", one.what);
    out.key("more");
    out.raw(six_digits(one.more));
    out.member("is_of_all_ranks", one.is_of_all_ranks);
    write_members(out, one.plan);
    out.end_object();
  }
  out.end_array();
}

/// The text of each file by its name.
void write_files(JsonWriter& out, const PlanAnswer& answer) {
  out.key("export");
  out.begin_object();
  out.member("plan", static_cast<std::int64_t>(answer.written_plan));
  out.key("files");
  out.begin_object();
  for (const PlanFile& file : answer.files) out.member(file.name, file.text);
  out.end_object();
  out.end_object();
}

}  // namespace

std::string json(const PlanAnswer& answer) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "plan");
  out.member("question", answer.question);
  out.key("model");
  write(out, answer.model);
  out.key("device");
  write(out, answer.device);
  out.member("objective", answer.objective);
  out.key("plans");
  out.begin_array();
  std::int64_t rank = 0;
  for (const PlanRow& plan : answer.plans) {
    out.begin_object();
    out.member("rank", ++rank);
    write_members(out, plan);
    out.end_object();
  }
  out.end_array();
  out.key("pareto");
  out.begin_row();
  for (const std::size_t i : answer.pareto) out.value(static_cast<std::int64_t>(i));
  out.end_array();
  write_why_not(out, answer.why_not);
  write_expected(out, answer.expected);
  out.member("screened", answer.screened);
  out.member("bounded", answer.bounded);
  out.member("confirmed", answer.confirmed);
  out.member("stopped", answer.stopped);
  out.key("warnings");
  write(out, answer.warnings);
  if (!answer.files.empty()) write_files(out, answer);
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::report
