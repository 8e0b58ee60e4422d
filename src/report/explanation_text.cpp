// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "report/explanation.h"
#include "report/headline.h"
#include "report/unit.h"

namespace memtape::report {
namespace {

constexpr std::size_t kPinnedShown = 5, kFiguresShown = 200, kRecordingsShown = 2;
constexpr int kNumber = 12;

class Page {
 public:
  Page(const Style& style, int width)
      : style_(style), width_(std::clamp(width, kLeastWidth, kMostWidth)) {}

  void line(std::string text = {}) {
    while (text.ends_with(' ')) text.pop_back();
    out_ += text + "\n";
  }
  void paragraph(std::string_view text, int indent) {
    for (const std::string& part : wrap(text, width_ - indent))
      line(std::string(static_cast<std::size_t>(indent), ' ') + part);
  }
  void head(std::string_view title) { line("\n  " + style_.bold(title)); }
  const Style& style() const { return style_; }
  int width() const { return width_; }
  std::string take() && { return std::move(out_); }

 private:
  Style style_;
  int width_;
  std::string out_;
};

std::string padded_bytes(Bytes bytes, const Unit& unit) {
  return pad_left(unit.text(bytes), kNumber);
}

void moment_row(Page& page, std::string_view name, const HeldMoment& m, const Unit& unit) {
  page.line("  " + pad_right(std::string(name), 26) + padded_bytes(m.levels.requested, unit) +
            padded_bytes(m.levels.allocated, unit) + padded_bytes(m.levels.reserved, unit));
}

void levels_table(Page& page, const ExplainedRecording& r, const Unit& unit) {
  page.head(
      pad_right(fmt::format("over {}", r.held.has_events ? "the recording" : "the moment"), 26) +
      pad_left("requested", kNumber) + pad_left("allocated", kNumber) +
      pad_left("reserved", kNumber) + "   " + std::string(unit.name));
  const auto at = [](const HeldMoment& m) {
    return m.is_start ? std::string("at its start") : fmt::format("event {}", m.event + 1);
  };
  if (r.held.has_events) moment_row(page, "at its start", r.held.start, unit);
  if (r.held.has_events) moment_row(page, "most allocated, " + at(r.held.peak), r.held.peak, unit);
  if (r.held.has_events && r.held.peak_reserved.event != r.held.peak.event)
    moment_row(page, "most reserved, " + at(r.held.peak_reserved), r.held.peak_reserved, unit);
  moment_row(page, "at its end", r.held.end, unit);
  const Levels& peak = r.held.peak.levels;
  page.line(fmt::format("  peak: {} B requested, {} B allocated, {} B reserved",
                        with_commas(peak.requested), with_commas(peak.allocated),
                        with_commas(r.held.peak_reserved.levels.reserved)));
}

void categories_table(Page& page, const ExplainedRecording& r, const Unit& unit) {
  const Bytes total = r.at_peak.categories.total();
  if (total == 0) return;
  page.head(pad_right("at the peak", 26) + pad_left(std::string(unit.name), kNumber) +
            pad_left("share", 10));
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    const Bytes bytes = r.at_peak.categories[category];
    if (bytes == 0) continue;
    const auto eighths = static_cast<std::int64_t>(
        std::llround(static_cast<double>(bytes) / static_cast<double>(total) * 160));
    page.line("  " + pad_right(std::string(name(category)), 26) + padded_bytes(bytes, unit) +
              pad_left(fmt::format("{:.1f} %",
                                   100.0 * static_cast<double>(bytes) / static_cast<double>(total)),
                       10) +
              "  " + page.style().paint(bar(eighths, page.style()), ink(category)));
  }
  page.line(fmt::format("  {} of it is rounding: blocks beyond their requests",
                        human_bytes(r.at_peak.rounding)));
}

void largest_table(Page& page, const ExplainedRecording& r, const Unit& unit) {
  const std::size_t shown = std::min(kLargestShown, r.at_peak.groups.size());
  if (shown == 0) return;
  page.head(pad_right("largest at the peak", 26) + pad_left("count", kNumber) +
            pad_left(std::string(unit.name), kNumber));
  Bytes listed = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const HeldGroup& g = r.at_peak.groups[i];
    listed += g.bytes;
    const std::string place = r.largest_places[i].empty() ? "(no stack)" : r.largest_places[i];
    page.line(fmt::format("  {}{}{}", pad_right(human_bytes(g.requested) + " each", 26),
                          pad_left(with_commas(g.count), kNumber), padded_bytes(g.bytes, unit)));
    page.line("    " +
              shorten(fmt::format("{}, {}{}{}", place, name(g.category),
                                  r.largest_ops[i].empty() ? "" : ", by ", r.largest_ops[i]),
                      page.width() - 4, page.style()));
  }
  const Bytes rest = r.at_peak.categories.total() - listed;
  if (rest > 0)
    page.line(fmt::format(
        "  {}{}{}", pad_right("all others", 26),
        pad_left(with_commas(static_cast<std::int64_t>(r.at_peak.groups.size() - shown)), kNumber),
        padded_bytes(rest, unit)));
}

void fragmentation_part(Page& page, const ExplainedRecording& r) {
  const Fragmentation& f = r.fragmentation;
  if (f.segments == 0) return;
  const bool ran_out = !r.held.ooms.empty();
  page.head(fmt::format("free in the segments {}",
                        ran_out ? "when it ran out" : "when most was reserved"));
  std::string text = fmt::format("{} in {} segments, the largest hole {}", human_bytes(f.free),
                                 f.segments, human_bytes(f.largest_hole));
  if (ran_out)
    text += fmt::format(" (the request: {})", human_bytes(r.held.ooms.front().requested));
  if (f.releasable > 0)
    text += fmt::format("; {} of it in empty segments, which empty_cache() gives back",
                        human_bytes(f.releasable));
  page.paragraph(text, 2);
  if (f.half_empty > 0)
    page.paragraph(
        fmt::format("{} segments are at least half empty and kept by what lives in them:",
                    f.half_empty),
        2);
  Stories stories(*r.recording.stacks);
  std::size_t shown = 0;
  for (const PinnedSegment& s : f.pinned) {
    if (2 * (s.size - s.used) < s.size) continue;
    if (shown++ == kPinnedShown) break;
    const BlockLife& pin = *s.pins.front();
    const std::string place = stories.of(pin.stack).place;
    page.line("    " +
              shorten(fmt::format("{} of {} free, kept by {} block{}, the largest {}{}{}",
                                  human_bytes(s.size - s.used), human_bytes(s.size), s.live_blocks,
                                  s.live_blocks == 1 ? "" : "s", human_bytes(pin.requested),
                                  place.empty() ? "" : " from ", place),
                      page.width() - 4, page.style()));
  }
}

void leaks_part(Page& page, const ExplainedRecording& r) {
  if (r.steps.begin.size() >= 2 && r.leaks.empty() && r.steps.is_marked)
    page.paragraph(fmt::format("{} steps, none of which leaves more behind than the one before",
                               r.steps.begin.size()),
                   2);
  if (r.leaks.empty()) return;
  page.head(fmt::format("grows over {} steps", r.steps.begin.size()));
  for (std::size_t i = 0; i < std::min(kPinnedShown, r.leaks.size()); ++i) {
    const Leak& leak = r.leaks[i];
    page.line(
        "    " +
        shorten(fmt::format("{} x {} alive at the end, {:.1f} more with every step: "
                            "{}",
                            with_commas(leak.count), human_bytes(leak.requested), leak.per_step,
                            r.leak_places[i].empty() ? "(no stack)" : r.leak_places[i]),
                page.width() - 4, page.style()));
  }
}

void what_if_table(Page& page, const ExplainedRecording& r, const Unit& unit) {
  if (r.what_ifs.size() < 2 || r.what_ifs.front().peak.reserved == 0) return;
  page.head(pad_right("its requests played again", 38) + pad_left("reserved", kNumber) + "   " +
            std::string(unit.name));
  for (const WhatIf& w : r.what_ifs) {
    const std::string setting =
        w.setting.empty() ? "as recorded, from an empty allocator" : w.setting;
    const std::string end = !w.serves ? "" : *w.serves ? "   the request is served" : "   runs out";
    page.line("  " + pad_right(setting, 38) + padded_bytes(w.peak.reserved, unit) + end);
  }
}

void remedies_part(Page& page, const std::vector<Remedy>& remedies) {
  if (remedies.empty()) return;
  page.head("what would have avoided it, or needs less");
  for (const Remedy& remedy : remedies) {
    page.line("    " + page.style().bold(remedy.change));
    page.paragraph(remedy.effect, 6);
  }
}

void recording_part(Page& page, const ExplainedRecording& r) {
  const Bytes most = std::max(r.held.peak_reserved.levels.reserved, r.held.peak.levels.allocated);
  const Unit unit = unit_for(most);
  const auto& events = r.recording.trace.events;
  page.line(
      page.style().bold(fmt::format("{}, GPU {}", r.recording.name, r.recording.device)) +
      fmt::format(": {} events, {} stacks{}", with_commas(static_cast<std::int64_t>(events.size())),
                  with_commas(static_cast<std::int64_t>(r.recording.stacks->stacks.size() - 1)),
                  r.held.is_exact ? ", every event as the allocator's rules have it" : ""));
  for (const HeldOom& oom : r.held.ooms) {
    page.line(page.style().paint(
        fmt::format("  out of memory at event {}: {} asked for, {} free on the device; {} "
                    "allocated, {} reserved",
                    oom.event + 1, human_bytes(oom.requested), human_bytes(oom.device_free),
                    human_bytes(oom.levels.allocated), human_bytes(oom.levels.reserved)),
        kBad));
    if (!r.oom_place.empty()) page.line("    at " + r.oom_place);
    break;
  }
  levels_table(page, r, unit);
  categories_table(page, r, unit);
  largest_table(page, r, unit);
  fragmentation_part(page, r);
  leaks_part(page, r);
  what_if_table(page, r, unit);
  remedies_part(page, r.remedies);
  if (!r.held.is_exact)
    page.paragraph(fmt::format("{}: allocated is the requests rounded, not what their blocks took",
                               r.held.not_exact),
                   2);
}

/// The one that ran out, else the one with the highest peak.
const ExplainedRecording* fullest_recording(const Explanation& e) {
  const auto rank = [](const ExplainedRecording& r) {
    return std::pair(!r.held.ooms.empty(), r.held.peak_reserved.levels.reserved);
  };
  return &*std::ranges::max_element(e.recordings, {}, rank);
}

void ranks_table(Page& page, const Explanation& e) {
  const Unit unit = unit_for(fullest_recording(e)->held.peak_reserved.levels.reserved);
  page.line("  " + pad_right(fmt::format("{} recordings, peaks", e.recordings.size()), 44) +
            pad_left("allocated", kNumber) + pad_left("reserved", kNumber) + "   " +
            std::string(unit.name));
  for (const ExplainedRecording& r : e.recordings)
    page.line("  " +
              pad_right(shorten(fmt::format("{}, GPU {}", r.recording.name, r.recording.device), 43,
                                page.style()),
                        44) +
              padded_bytes(r.held.peak.levels.allocated, unit) +
              padded_bytes(r.held.peak_reserved.levels.reserved, unit) +
              (r.held.ooms.empty() ? "" : "   out of memory"));
  if (e.recordings.size() > kRecordingsShown)
    page.line("  the fullest in full below (--device N and --json show the others)");
}

void quantity_row(Page& page, std::string_view name, const std::optional<Quantity>& q) {
  if (q) page.line("  " + pad_right(std::string(name), 34) + pad_left(human_bytes(q->bytes), 14));
}

void message_part(Page& page, const ExplainedMessage& e) {
  const OomMessage& m = e.message;
  page.line(page.style().bold(fmt::format("out of memory, line {}", m.line)) +
            fmt::format(" ({}{}{}){}", name(m.wording), m.backend.empty() ? "" : ", ", m.backend,
                        m.times > 1 ? fmt::format(", {} times", m.times) : ""));
  if (!m.place.empty()) page.line("  at " + m.place);
  if (m.gpu) page.line(fmt::format("  GPU {}", *m.gpu));
  quantity_row(page, "asked for", m.requested);
  quantity_row(page, "the device has", m.device);
  quantity_row(page, "free on it", m.free);
  const bool is_on_chip = m.wording == OomMessage::Wording::triton;
  quantity_row(page, is_on_chip ? "a multiprocessor has" : "torch may use", m.allowed);
  quantity_row(page, "this process holds", m.process);
  quantity_row(page, "allocated", m.allocated);
  quantity_row(page, "reserved, not in use", m.unallocated);
  quantity_row(page, "in private pools", m.private_pools);
  quantity_row(page, "cache that one request needs", m.cache_needed);
  quantity_row(page, "cache that is there", m.cache_available);
  for (const auto& [pid, held] : m.other_processes)
    quantity_row(page, pid == 0 ? "others" : fmt::format("process {}", pid), held);
  for (const std::string& finding : e.findings) page.paragraph("- " + finding, 2);
  remedies_part(page, e.remedies);
}

std::string figure_text(const LogFigure& f, double value) {
  if (f.unit == LogFigure::Unit::bytes) return human_bytes(static_cast<Bytes>(value));
  if (f.unit == LogFigure::Unit::count) return with_commas(static_cast<std::int64_t>(value));
  return fmt::format("{:.2f}", value);
}

void figures_part(Page& page, const std::vector<LogFigure>& figures) {
  if (figures.empty()) return;
  page.line(page.style().bold("figures of the log"));
  page.line("  " + pad_right("", 44) + pad_left("last", 14) + pad_left("highest", 14) +
            pad_left("line", 8));
  for (std::size_t i = 0; i < std::min(figures.size(), kFiguresShown); ++i) {
    const LogFigure& f = figures[i];
    page.line(
        "  " +
        pad_right(fmt::format("{} {}{}{}", f.program, f.name, f.where.empty() ? "" : ", ", f.where),
                  44) +
        pad_left(figure_text(f, f.last), 14) +
        pad_left(f.times > 1 ? figure_text(f, f.highest) : "", 14) +
        pad_left(std::to_string(f.line), 8));
  }
  if (figures.size() > kFiguresShown)
    page.line(fmt::format("  and {} more (--json has all)", figures.size() - kFiguresShown));
}

void residual_part(Page& page, const Explanation& e) {
  if (!e.residual) return;
  page.line("\n" + page.style().bold("beside ") + e.against);
  page.line(fmt::format("  predicted peak: {} B allocated, {} B reserved",
                        with_commas(e.predicted_peak.allocated),
                        with_commas(e.predicted_peak.reserved)));
  page.line(
      fmt::format("  {} of the step's {} allocations are in the recording, in order, from "
                  "event {}",
                  with_commas(static_cast<std::int64_t>(e.step_allocations_found)),
                  with_commas(static_cast<std::int64_t>(e.step_allocations)), e.step_event + 1));
  if (!e.step_difference.empty()) page.paragraph("first other: " + e.step_difference, 2);
  if (e.residual->empty()) page.line("  no difference, to the byte");
  for (const Residual& r : *e.residual) {
    page.line("  " + pad_right(r.cause, 40) +
              pad_left(fmt::format("{}{}", r.bytes > 0 ? "+" : "", with_commas(r.bytes)), 20) +
              " B");
    if (!r.where.empty()) page.paragraph(r.where, 6);
  }
}

}  // namespace

std::string text(const Explanation& e, const Style& style, int width) {
  Page page(style, width);
  bool first = true;
  const auto apart = [&] {
    if (!first) page.line();
    first = false;
  };
  if (e.recordings.size() > 1) {
    apart();
    ranks_table(page, e);
  }
  for (const ExplainedRecording& r : e.recordings) {
    if (e.recordings.size() > kRecordingsShown && &r != fullest_recording(e)) continue;
    apart();
    recording_part(page, r);
  }
  for (const ExplainedMessage& m : e.messages) {
    apart();
    message_part(page, m);
  }
  if (!e.figures.empty()) apart();
  figures_part(page, e.figures);
  residual_part(page, e);
  for (const std::string& warning : e.warnings) page.paragraph("warning: " + warning, 0);
  return std::move(page).take();
}

std::string quiet_text(const Explanation& e) {
  std::string out;
  for (const ExplainedRecording& r : e.recordings)
    out +=
        quiet_line(fmt::format("{}, GPU {}", r.recording.name, r.recording.device),
                   {fmt::format("peak {} allocated", human_bytes(r.held.peak.levels.allocated)),
                    fmt::format("{} reserved", human_bytes(r.held.peak_reserved.levels.reserved)),
                    r.held.ooms.empty() ? "" : "out of memory"});
  for (const ExplainedMessage& m : e.messages)
    out += quiet_line(
        fmt::format("line {}", m.message.line),
        {"out of memory",
         m.message.requested ? human_bytes(m.message.requested->bytes) + " asked for" : ""});
  for (const LogFigure& f : e.figures)
    out += quiet_line(fmt::format("line {}", f.line),
                      {fmt::format("{} {} {}", f.program, f.name, figure_text(f, f.last))});
  return out;
}

}  // namespace memtape::report
