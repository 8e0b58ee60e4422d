// SPDX-License-Identifier: Apache-2.0
#include "report/serve_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/unit.h"

namespace memtape::report {
namespace {

constexpr int kIndent = 2;
constexpr int kLabelWidth = 24;
constexpr int kNumberWidth = 11;

const ServeRank& fullest(const ServeAnswer& answer) {
  static const ServeRank kNone;
  const auto at = std::ranges::max_element(answer.ranks, {}, &ServeRank::peak_device_bytes);
  return at == answer.ranks.end() ? kNone : *at;
}

class ServeReport {
 public:
  ServeReport(const ServeAnswer& answer, const ServeTextOptions& options)
      : a_(answer),
        rank_(fullest(answer)),
        style_(options.style),
        width_(std::clamp(options.width, kLeastWidth, kMostWidth)),
        unit_(unit_for(std::max(rank_.peak_device_bytes, a_.model.weight_bytes))) {}

  std::string take() && {
    headline();
    verdict();
    parts();
    cache();
    buffers();
    ranks();
    advice();
    remarks();
    correction();
    return std::move(out_);
  }

 private:
  void line(std::string_view text) {
    out_.append(text.substr(0, text.find_last_not_of(' ') + 1));
    out_ += '\n';
  }

  void paragraph(std::string_view text, int indent, Ink colour) {
    for (const std::string& part : wrap(text, width_ - indent))
      line(std::string(static_cast<std::size_t>(indent), ' ') + style_.paint(part, colour));
  }

  std::string number(Bytes bytes) const { return pad_left(unit_.text(bytes), kNumberWidth); }
  std::string with_unit(Bytes bytes) const {
    return fmt::format("{} {}", unit_.text(bytes), unit_.name);
  }

  void head(std::string_view title, std::string_view columns_of_it) {
    line("");
    line(pad_right("  " + style_.bold(title), kLabelWidth) + style_.paint(columns_of_it, kQuiet));
  }

  std::string settings() const {
    std::vector<std::string> words{a_.engine};
    for (const auto& settings : {a_.workload, a_.mesh})
      for (const Setting& s : settings) {
        if (s.json_value == "null" || s.json_value == "false") continue;
        const std::string_view v = s.json_value;
        words.push_back(
            fmt::format("{} {}", s.name, v.front() == '"' ? v.substr(1, v.size() - 2) : v));
      }
    return fmt::format("{}", fmt::join(words, style_.pick(" · ", ", ")));
  }

  void headline() {
    const std::string right =
        a_.model.parameters > 0 ? with_commas(a_.model.parameters) + " parameters" : "";
    const std::string left = shorten(a_.model.id, std::max(8, width_ - columns(right) - 2), style_);
    line(style_.bold(left) + pad_left(right, width_ - columns(left)));
    paragraph(settings(), 0, kQuiet);
    line("");
  }

  void verdict() {
    if (a_.device) {
      const bool fits = a_.fits.value_or(true);
      const std::string word =
          style_.bold(style_.paint(fits ? "fits" : "does not fit", fits ? kGood : kBad));
      line(fmt::format("  {}: {} of {} on {}", word,
                       style_.bold(unit_.text(rank_.peak_device_bytes)),
                       with_unit(a_.device->total_bytes),
                       shorten(a_.device->name, std::max(8, width_ - 44), style_)));
      line("  " + device_bar(rank_));
      const Bytes room = a_.headroom_bytes.value_or(0);
      line(fmt::format(
          "  {} {}", human_bytes(room < 0 ? -room : room),
          room < 0 ? "more than the driver gives" : "to spare of what the driver gives"));
    } else if (!a_.ranks.empty()) {
      line("  " + style_.bold(with_unit(rank_.peak_device_bytes)) + " on the device");
    } else {
      line("  " + style_.bold(with_unit(a_.model.weight_bytes)) + " of weights");
    }
    if (!a_.failure.empty()) paragraph(a_.failure, kIndent, kBad);
  }

  /// The whole device as one bar, what is free at its end.
  std::string device_bar(const ServeRank& rank) const {
    const Bytes full = std::max(a_.device->total_bytes, rank.peak_device_bytes);
    const int cells = width_ - 2 * kIndent;
    std::string text;
    Bytes passed = 0;
    int drawn = 0;
    const auto part = [&](Bytes bytes, std::string_view glyph, Ink colour) {
      passed += bytes;
      const auto until = static_cast<int>(
          static_cast<double>(passed) / static_cast<double>(std::max<Bytes>(full, 1)) * cells +
          0.5);
      std::string run;
      for (; drawn < until; ++drawn) run += glyph;
      if (!run.empty()) text += style_.paint(run, colour);
    };
    for (std::size_t i = 0; i < kCategories; ++i) {
      const auto category = static_cast<Category>(i);
      part(rank.at_peak[category], style_.fill(category), ink(category));
    }
    part(full - rank.at_peak.total(), style_.pick("╌", "-"), kQuiet);
    return text;
  }

  void parts() {
    if (a_.ranks.empty()) return;
    head("on the device", pad_left(std::string(unit_.name), kNumberWidth));
    for (std::size_t i = 0; i < kCategories; ++i) {
      const auto category = static_cast<Category>(i);
      if (rank_.at_peak[category] == 0) continue;
      line(pad_right("  " + style_.paint(style_.fill(category), ink(category)) + " " +
                         std::string(name(category)),
                     kLabelWidth) +
           number(rank_.at_peak[category]));
    }
    line(style_.bold(pad_right("  in all", kLabelWidth) + number(rank_.peak_device_bytes)));
  }

  void cache() {
    const KvCache& kv = rank_.kv_cache;
    if (kv.tokens == 0 && kv.layers.empty()) return;
    head("KV cache", pad_left(std::string(unit_.name), kNumberWidth) + pad_left("layers", 8) +
                         pad_left("tokens", 12) + pad_left("per token", 12));
    for (const KvGroup& group : kv.layers)
      line(pad_right("  " + group.kind, kLabelWidth) + number(group.bytes) +
           pad_left(std::to_string(group.layers), 8) +
           pad_left(group.tokens > 0 ? with_commas(group.tokens) : "", 12) +
           pad_left(group.bytes_per_token > 0 ? human_bytes(group.bytes_per_token) : "", 12));
    std::string all = fmt::format("{} tokens", with_commas(kv.tokens));
    if (kv.num_blocks > 0)
      all += fmt::format(" in {} blocks of {}", with_commas(kv.num_blocks), kv.block_size);
    if (kv.max_concurrency)
      all += fmt::format("; {:.2f} requests of the full context at a time", *kv.max_concurrency);
    line("  " + style_.paint(all, kQuiet));
  }

  void buffers() {
    if (a_.buffers.empty()) return;
    head("buffers", pad_left("model", kNumberWidth) + pad_left("context", kNumberWidth) +
                        pad_left("compute", kNumberWidth) + fmt::format("   {}", unit_.name));
    for (const BufferBytes& b : a_.buffers)
      line(pad_right("  " + b.name, kLabelWidth) + number(b.model) + number(b.context) +
           number(b.compute));
  }

  void ranks() {
    if (a_.ranks.size() < 2) return;
    head("per rank", pad_left("device", kNumberWidth) + pad_left("weights", kNumberWidth) +
                         pad_left("KV cache", kNumberWidth) + fmt::format("   {}", unit_.name));
    for (const ServeRank& r : a_.ranks) {
      const std::string more =
          r.ranks.size() > 1 ? fmt::format(" and {} more", r.ranks.size() - 1) : "";
      line(pad_right(fmt::format("  rank {}{}", r.ranks.empty() ? 0 : r.ranks.front(), more),
                     kLabelWidth) +
           number(r.peak_device_bytes) + number(r.weights_bytes) + number(r.kv_cache.bytes));
      if (a_.device) line("  " + device_bar(r));
    }
  }

  void advice() {
    if (a_.advice.empty()) return;
    line("");
    line("  " +
         style_.bold(a_.fits.value_or(true) ? "what would save more" : "what would make it fit"));
    for (const Advice& a : a_.advice) {
      line(pad_right("  " + shorten(a.change, width_ - kNumberWidth - 4, style_),
                     width_ - kNumberWidth) +
           number(a.peak_device_bytes));
      paragraph("costs " + a.cost, 4, kQuiet);
    }
  }

  void remarks() {
    if (!a_.notes.empty()) line("");
    for (const std::string& note : a_.notes) line("  " + note);
    const bool range = a_.bounds && a_.bounds->low_bytes != a_.bounds->high_bytes;
    if (range || !a_.warnings.empty()) line("");
    if (range)
      paragraph(fmt::format("Between {} and {} on the device: {}", unit_.text(a_.bounds->low_bytes),
                            with_unit(a_.bounds->high_bytes), fmt::join(a_.bounds->causes, "; ")),
                kIndent, kQuiet);
    for (const std::string& warning : a_.warnings)
      paragraph("warning: " + warning, kIndent, ink(Category::gradient));
  }

  /// Alone on its line, so that it can be copied.
  void correction() {
    if (a_.corrected_command.empty()) return;
    line("");
    line("  " + style_.bold("the command that fits"));
    line("  " + a_.corrected_command);
  }

  const ServeAnswer& a_;
  const ServeRank& rank_;
  Style style_;
  int width_;
  Unit unit_;
  std::string out_;
};

}  // namespace

std::string text(const ServeAnswer& answer, const ServeTextOptions& options) {
  return ServeReport(answer, options).take();
}

std::string quiet_text(const ServeAnswer& answer) {
  const ServeRank& rank = fullest(answer);
  const Bytes bytes = answer.ranks.empty() ? answer.model.weight_bytes : rank.peak_device_bytes;
  if (!answer.device) return gib(bytes) + "\n";
  return fmt::format(
      "{}: {} of {}{}\n", answer.fits.value_or(true) ? "fits" : "does not fit", gib(bytes),
      gib(answer.device->total_bytes),
      answer.solved ? fmt::format(" with --{} {}", answer.solved->flag, answer.solved->value) : "");
}

}  // namespace memtape::report
