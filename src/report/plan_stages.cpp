// SPDX-License-Identifier: Apache-2.0
#include "report/plan_stages.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::report {
namespace {

constexpr int kStageMargin = 12, kShare = 6, kBesideColumns = kStageMargin + kShare;

/// A column in which a stage does both is mixed, unless one of them takes four fifths of its work.
std::string_view glyph(const Slice& slice, const Style& style) {
  const double busy = slice.forward + slice.backward;
  if (busy < 0.5) return style.pick("·", ".");
  if (slice.backward > 0.8 * busy) return style.pick("█", "B");
  return slice.forward > 0.8 * busy ? style.pick("░", "f") : style.pick("▒", "x");
}

double waits(const PlanStage& stage, double end) {
  return std::clamp(1.0 - (stage.seconds(false) + stage.seconds(true)) / end, 0.0, 1.0);
}

}  // namespace

std::vector<Slice> slices_of(const PlanStage& stage, double end, std::size_t count) {
  std::vector<Slice> slices(count);
  const double each = end / static_cast<double>(count);
  for (const PlanStage::Pass& pass : stage.passes) {
    const double last = std::min(pass.end / each, static_cast<double>(count));
    for (auto at = static_cast<std::size_t>(pass.start / each); at < count; ++at) {
      const auto from = std::max(pass.start / each, static_cast<double>(at));
      const auto to = std::min(last, static_cast<double>(at) + 1.0);
      if (to <= from) break;
      (pass.is_backward ? slices[at].backward : slices[at].forward) += to - from;
    }
  }
  return slices;
}

std::string stages_picture(const PlanAnswer& answer, const PlanLook& look) {
  if (answer.plans.empty() || answer.plans.front().stages.size() < 2) return {};
  const std::vector<PlanStage>& stages = answer.plans.front().stages;
  const double end = end_of(stages);
  const auto count = static_cast<std::size_t>(std::clamp(look.width - kBesideColumns, 16, 100));
  const Style& style = look.style;
  std::string out = fmt::format(
      "\nits pipeline: {} forward, {} backward, {} both in turn, {} waits, and how much of it\n",
      style.pick("░", "f"), style.pick("█", "B"), style.pick("▒", "x"), style.pick("·", "."));
  const std::size_t drawn = std::min(stages.size(), kMostStages);
  for (std::size_t row = 0; row < drawn; ++row) {
    const std::size_t at = row * (stages.size() - 1) / (drawn - 1);
    out += pad_right(fmt::format("  stage {}", at), kStageMargin);
    for (const Slice& slice : slices_of(stages[at], end, count)) out += glyph(slice, style);
    out += pad_left(fmt::format("{:.0f} %", waits(stages[at], end) * 100.0), kShare) + "\n";
  }
  return out;
}

}  // namespace memtape::report
