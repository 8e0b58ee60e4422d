// SPDX-License-Identifier: Apache-2.0
#include "report/plan_text.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/text.h"
#include "report/command_lines.h"
#include "report/headline.h"
#include "report/plan_picture.h"
#include "report/plan_stages.h"

namespace memtape::report {
namespace {

/// The same layout measured in two releases of Megatron-Bridge differs by so much in the median:
/// plans that are no farther apart are ties.
constexpr double kTie = 0.057;

std::string gib_text(Bytes bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(1_GiB));
}

std::string rounded(double value) {
  return with_commas(static_cast<std::int64_t>(std::llround(value)));
}

std::string range_text(const SecondsRange& r) {
  return fmt::format("{} ({} to {})", seconds_words(r.mid), seconds_words(r.low),
                     seconds_words(r.high));
}

bool is_tie(const PlanRow& a, const PlanRow& b) {
  const bool same_kind = a.sacrifice == b.sacrifice && a.gpus == b.gpus;
  return same_kind && std::abs(a.step_seconds.mid - b.step_seconds.mid) <=
                          kTie * std::min(a.step_seconds.mid, b.step_seconds.mid);
}

std::string number_line(const PlanRow& p, bool serves) {
  const std::string time = serves ? time_words(p, serves) : range_text(p.step_seconds);
  std::string out = pad_right(time, 34) + pad_left(rounded(p.tokens_per_second) + " tok/s", 16);
  if (p.mfu) out += pad_left(fmt::format("{:.0f} % MFU", *p.mfu * 100.0), 10);
  return out;
}

std::string memory_line(const PlanRow& p) {
  if (!p.peak_device_bytes) return "memory is not modelled";
  std::string out =
      gib_text(p.within_limit_bytes.value_or(*p.peak_device_bytes)) + " on the fullest GPU";
  out += of_few(p);
  if (p.headroom_bytes)
    out += *p.headroom_bytes >= 0 ? fmt::format(", {} to spare", gib_text(*p.headroom_bytes))
                                  : fmt::format(", {} too much", gib_text(-*p.headroom_bytes));
  if (p.within_limit_bytes)
    out += fmt::format(
        "; {} with room for it: cached segments go back in every step, which takes "
        "time",
        gib_text(*p.peak_device_bytes));
  if (p.verdict == VerdictWord::may_not_fit) out += " (may not fit)";
  if (p.users) out += fmt::format(", {} users", with_commas(*p.users));
  if (p.cost_per_hour) out += fmt::format(", {:.2f} an hour", *p.cost_per_hour);
  return out;
}

void add(std::string& out, std::string_view sentence, int width, int indent) {
  const std::string blank(static_cast<std::size_t>(indent), ' ');
  for (const std::string& line : wrap(sentence, width - indent)) out += blank + line + "\n";
}

std::string plan_head(const PlanAnswer& a, const PlanLook& look) {
  std::string out = look.style.bold(a.model.id);
  if (a.model.parameters > 0 && !a.model.of_one_rank)
    out += fmt::format("  {} parameters", with_commas(a.model.parameters));
  out += "\n";
  std::string searched =
      fmt::format("{} plan{}, {} bounded out, {} run exactly", with_commas(a.screened),
                  a.screened == 1 ? "" : "s", with_commas(a.bounded), with_commas(a.confirmed));
  if (a.device)
    searched = fmt::format("{} on {}, {} each · {}", a.objective, a.device->name,
                           gib_text(a.device->total_bytes), searched);
  if (a.stopped) searched += " · stopped: the best so far";
  add(out, searched, look.width, 0);
  return out + "\n";
}

/// As a shell reads it back.
std::string shell_text(const std::string& word) {
  const bool is_plain = word.find_first_of(" {\"$*[]()<>|&;\n") == std::string::npos;
  return is_plain ? word : "'" + word + "'";
}

std::string options_of(const PlanRow& plan) {
  std::string out;
  for (const auto& [name, value] : plan.layout)
    out += fmt::format("{}--{} {}", out.empty() ? "" : " ", name, shell_text(value));
  return out;
}

std::string command_of(const PlanRow& plan) {
  std::string out;
  for (const std::string& word : plan.command) out += (out.empty() ? "" : " ") + shell_text(word);
  return out;
}

void add_plan(std::string& out, const PlanAnswer& a, std::size_t at, const PlanLook& look) {
  const PlanRow& p = a.plans[at];
  const bool serves = a.question == "serve";
  const bool ties = !serves && at > 0 && is_tie(a.plans[at - 1], p);
  const std::string sign = ties ? std::string(look.style.pick("≈", "~")) : " ";
  out += pad_left(fmt::format("{}", at + 1), 3) + sign + " " +
         look.style.bold(number_line(p, serves)) + "\n";
  add(out,
      fmt::format("{} · {} · {} GPU{}", p.framework, p.words, with_commas(p.gpus),
                  p.gpus == 1 ? "" : "s"),
      look.width, 5);
  const std::string memory = memory_line(p);
  add(out, p.fits == false ? look.style.paint(memory, kBad) : memory, look.width, 5);
  if (!p.sacrifice.empty()) add(out, p.sacrifice, look.width, 5);
}

/// Where the first plan's time goes: what takes half a percent of it or more.
std::string time_table(const PlanAnswer& a) {
  if (a.plans.empty() || a.plans.front().time.empty()) return {};
  std::vector<PlanTime> parts = a.plans.front().time;
  std::ranges::stable_sort(parts, std::ranges::greater(), &PlanTime::seconds);
  double all = 0.0;
  for (const PlanTime& part : parts) all += part.seconds;
  std::string out = "\nwhere a step of plan 1 goes\n";
  for (const PlanTime& part : parts)
    if (part.seconds >= all / 200.0)
      out += fmt::format("  {}{}{}\n", pad_right(part.name, 26),
                         pad_left(seconds_words(part.seconds), 8),
                         pad_left(fmt::format("{:.0f} %", part.seconds / all * 100.0), 7));
  return out;
}

/// A plan that is faster than the first stands behind it where it does not fit for certain, or
/// where the first is what was asked for; that is said.
std::string faster_but_tight(const PlanAnswer& a, const PlanLook& look) {
  std::string out;
  for (std::size_t i = 1; i < a.plans.size(); ++i) {
    const PlanRow& p = a.plans[i];
    if ((p.fits_well() && !a.asked_first) || p.sacrifice != a.plans.front().sacrifice ||
        p.step_seconds.mid >= a.plans.front().step_seconds.mid)
      continue;
    out += "\n";
    add(out,
        fmt::format("Plan {} is faster than plan 1: {} a step. It stands behind because it {}.",
                    i + 1, seconds_words(p.step_seconds.mid),
                    p.within_limit_bytes ? "fits only while cached segments go back in every step"
                    : p.fits_well()      ? "is another than the one that was asked for"
                                         : "may not fit"),
        look.width, 0);
  }
  return out;
}

}  // namespace

std::string seconds_words(double s) {
  if (s >= 100.0) return fmt::format("{:.0f} s", s);
  if (s >= 1.0) return fmt::format("{:.3g} s", s);
  return fmt::format("{:.3g} ms", s * 1000.0);
}

std::string memory_words(const PlanRow& plan) { return memory_line(plan); }

std::string of_few(const PlanRow& p) {
  if (!p.run_micro_batches) return {};
  return fmt::format(" with {} of {} micro-batches", *p.run_micro_batches, p.micro_batches);
}

std::string time_words(const PlanRow& plan, bool serves) {
  if (!serves) return range_text(plan.step_seconds) + " a step";
  if (!plan.ttft || !plan.tpot) return {};
  return fmt::format("first token {}, next {}", seconds_words(plan.ttft->mid),
                     seconds_words(plan.tpot->mid));
}

std::string quiet_text(const PlanAnswer& answer) {
  if (answer.plans.empty()) return "nothing fits\n";
  const PlanRow& best = answer.plans.front();
  const std::string time = time_words(best, answer.question == "serve");
  if (!best.peak_device_bytes)
    return quiet_line(options_of(best), {"memory is not modelled", time});
  const Bytes needed = best.within_limit_bytes.value_or(*best.peak_device_bytes);
  QuietLine line{.name = options_of(best), .needed = needed, .room = best.headroom_bytes};
  if (best.headroom_bytes) line.total = needed + *best.headroom_bytes;
  if (best.verdict) line.verdict = name(*best.verdict);
  line.reason = time;
  return line.text();
}

std::string text(const PlanAnswer& a, const PlanLook& look) {
  std::string out = plan_head(a, look);
  if (a.plans.empty())
    out +=
        look.style.paint(a.stopped ? "Nothing that was tried fits." : "Nothing fits.", kBad) + "\n";
  for (std::size_t i = 0; i < a.plans.size(); ++i) add_plan(out, a, i, look);
  if (a.plans.size() > 1 && a.question == "train")
    add(out += "\n",
        fmt::format("{} no farther from the one above than two releases of a framework are from "
                    "each other",
                    look.style.pick("≈", "~")),
        look.width, 0);
  if (a.question == "train")
    out += picture(a, look) + time_table(a) + stages_picture(a, look) + faster_but_tight(a, look);
  for (const WhyNot& one : a.why_not) {
    out += "\n";
    add(out,
        fmt::format("{} {}: {}, would take {}, but lacks {} on rank {}{}.",
                    a.plans.empty() ? "Nearest is" : "Faster, but does not fit:",
                    one.plan.framework, one.plan.words, seconds_words(one.plan.step_seconds.mid),
                    gib_text(one.missing_bytes), one.rank, of_few(one.plan)),
        look.width, 0);
  }
  for (const std::string& warning : a.warnings) {
    out += "\n";
    add(out, warning, look.width, 2);
  }
  if (!a.plans.empty() && !a.plans.front().command.empty()) {
    const PlanRow& first = a.plans.front();
    const bool has_files = first.launch.find("DIR/") != std::string::npos;
    if (!first.launch.empty()) {
      out += fmt::format("\nplan 1 is launched by{}\n", has_files ? " (--export DIR)" : "");
      for (const std::string& line : command_lines(first.launch, look.width, 2, 6))
        out += line + "\n";
    }
    out += first.launch.empty() ? "\nplan 1:\n" : "and answered by\n";
    for (const std::string& line : command_lines(command_of(first), look.width, 2, 6))
      out += line + "\n";
  }
  return out;
}

}  // namespace memtape::report
