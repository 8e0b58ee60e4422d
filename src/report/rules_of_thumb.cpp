// SPDX-License-Identifier: Apache-2.0
#include "report/rules_of_thumb.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/unit.h"

namespace memtape {

double RuleOfThumb::error_percent() const {
  if (exact == 0) return 0.0;
  return 100.0 * static_cast<double>(says - exact) / static_cast<double>(exact);
}

namespace report {
namespace {

/// "+12 %", "-0.3 %", or "exact".
std::string error_text(const RuleOfThumb& rule) {
  if (rule.says == rule.exact) return "exact";
  const double error = rule.error_percent();
  if (std::abs(error) < 0.05) return "< 0.1 %";
  return std::abs(error) < 9.95 ? fmt::format("{:+.1f} %", error) : fmt::format("{:+.0f} %", error);
}

std::string row(const RuleOfThumb& rule, const Unit& unit, int name_width) {
  return fmt::format("  {}{:>11}{:>11}{:>10}  {}\n", pad_right(rule.name, name_width),
                     unit.text(rule.says), unit.text(rule.exact), error_text(rule), rule.of);
}

std::string reason(const RuleOfThumb& rule, int width, const Style& style) {
  std::string out = style.bold(rule.name) + "\n";
  for (const std::string& text : {fmt::format("{} ({})", rule.formula, rule.source), rule.why})
    for (const std::string& line : wrap(text, width - 2)) out += "  " + line + "\n";
  return out;
}

}  // namespace

std::string rules_of_thumb(const std::vector<RuleOfThumb>& rules, int width, const Style& style) {
  width = std::clamp(width, kLeastWidth, kMostWidth);
  Bytes largest = 0;
  int name_width = 0;
  for (const RuleOfThumb& rule : rules) {
    largest = std::max({largest, rule.says, rule.exact});
    name_width = std::max(name_width, columns(rule.name));
  }
  const Unit unit = unit_for(largest);
  std::string out = style.bold(fmt::format("Rules of thumb ({})", unit.name)) + "\n";
  out += fmt::format("  {}{:>11}{:>11}{:>10}  of\n", pad_right("", name_width), "it says", "really",
                     "off by");
  for (const RuleOfThumb& rule : rules) out += row(rule, unit, name_width);
  for (const RuleOfThumb& rule : rules) out += "\n" + reason(rule, width, style);
  return out;
}

}  // namespace report

}  // namespace memtape
