// SPDX-License-Identifier: Apache-2.0
#include "report/plan_why.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "report/plan_tables.h"
#include "report/plan_text.h"

namespace memtape::report {
namespace {

constexpr int kNameColumn = 26, kTimeColumn = 9;

std::string table_row(std::string_view name, const std::vector<std::string>& cells) {
  std::string out = "  " + pad_right(std::string(name), kNameColumn);
  for (const std::string& cell : cells) out += pad_left(cell, kTimeColumn);
  return out + "\n";
}

std::string table_of_parts(const PlanAnswer& answer, std::size_t columns) {
  const auto plans = std::span(answer.plans).first(std::min(columns, answer.plans.size()));
  std::vector<std::string> heads;
  for (std::size_t i = 0; i < plans.size(); ++i) heads.push_back(fmt::format("plan {}", i + 1));
  std::string out = "\nwhere a step goes\n" + table_row("", heads);
  for (const PlanTableRow& row : time_by_part(plans)) out += table_row(row.name, row.cells);
  return out;
}

void add_paragraph(std::string& out, const std::string& text, int width) {
  for (const std::string& line : wrap(text, width - 4)) out += "    " + line + "\n";
}

}  // namespace

std::string sentence(const ExpectedLayout& layout) {
  const PlanRow& plan = layout.plan;
  std::string said = fmt::format("{}: {} {} would take {:.3g} s, {}", layout.what, plan.framework,
                                 plan.words, plan.step_seconds.mid, beside_first(layout.more));
  if (plan.fits != false && !plan.fits_well()) said += "; it may not fit";
  if (plan.fits == false)
    said +=
        fmt::format("{} lacks {} on rank {}{}", layout.more < 0.0 ? ", but" : ", and",
                    human_bytes(-plan.headroom_bytes.value_or(0)), plan.peak_rank, of_few(plan));
  return said + ".";
}

std::string why_text(const PlanAnswer& answer, const PlanLook& look) {
  if (answer.plans.empty() || answer.plans.front().time.empty()) return {};
  const int columns = std::max(1, (look.width - kNameColumn - 2) / kTimeColumn);
  std::string out = table_of_parts(answer, static_cast<std::size_t>(columns));
  const std::vector<PlanReason> reasons = reasons_why_not(answer);
  if (!reasons.empty()) out += "\nwhy not\n";
  for (const PlanReason& one : reasons) {
    out += fmt::format("  {}\n", one.what);
    add_paragraph(out, one.layout, look.width);
    add_paragraph(out, fmt::format("{}; {}", one.step, one.memory), look.width);
  }
  return out;
}

}  // namespace memtape::report
