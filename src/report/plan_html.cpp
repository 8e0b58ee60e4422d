// SPDX-License-Identifier: Apache-2.0
#include "report/plan_html.h"

#include <cmath>

#include "report/html_assets.h"
#include "report/html_page.h"
#include "report/json_writer.h"
#include "report/plan_json.h"
#include "report/plan_stages.h"
#include "report/plan_tables.h"
#include "report/plan_text.h"

namespace memtape::report {
namespace {

constexpr std::size_t kSlices = 300;

/// For each stage the percent of each slice in which it computes forward, and backward, in turn.
void write_pipeline(JsonWriter& out, const std::vector<PlanStage>& stages) {
  out.key("pipeline");
  out.begin_array();
  const double end = end_of(stages);
  for (const PlanStage& stage : stages) {
    out.begin_row();
    for (const Slice& slice : slices_of(stage, end, kSlices)) {
      out.value(static_cast<std::int64_t>(std::lround(slice.forward * 100.0)));
      out.value(static_cast<std::int64_t>(std::lround(slice.backward * 100.0)));
    }
    out.end_array();
  }
  out.end_array();
}

void write_words(JsonWriter& out, const PlanAnswer& answer) {
  out.key("words");
  out.begin_array();
  for (const PlanRow& plan : answer.plans) {
    out.begin_row();
    out.value(plan.words);
    out.value(time_words(plan, answer.question == "serve"));
    out.value(memory_words(plan));
    out.end_array();
  }
  out.end_array();
}

/// The tables of --why: of text, a row each.
void write_plan_tables(JsonWriter& out, const PlanAnswer& answer) {
  out.key("parts");
  out.begin_array();
  for (const PlanTableRow& row : time_by_part(answer.plans)) {
    out.begin_row();
    out.value(row.name);
    for (const std::string& cell : row.cells) out.value(cell);
    out.end_array();
  }
  out.end_array();
  out.key("reasons");
  out.begin_array();
  for (const PlanReason& one : reasons_why_not(answer)) {
    out.begin_row();
    for (const std::string* cell : {&one.what, &one.layout, &one.step, &one.memory})
      out.value(*cell);
    out.end_array();
  }
  out.end_array();
}

}  // namespace

std::string html(const PlanAnswer& answer) {
  JsonWriter out(JsonWriter::Layout::compact);
  out.begin_object();
  write_words(out, answer);
  write_plan_tables(out, answer);
  if (!answer.plans.empty()) write_pipeline(out, answer.plans.front().stages);
  out.key("answer");
  out.raw(json(answer));
  out.end_object();
  return html_page(kPlanPage, kPlanScript, std::move(out).take());
}

}  // namespace memtape::report
