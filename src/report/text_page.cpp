// SPDX-License-Identifier: Apache-2.0
#include "report/text_page.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/command_lines.h"

namespace memtape::report {

TextPage::TextPage(const Style& style, int width, Bytes largest, int number_width)
    : style_(style),
      width_(std::clamp(width, kLeastWidth, kMostWidth)),
      unit_(unit_for(largest)),
      number_width_(number_width) {}

void TextPage::line(std::string_view text) {
  out_.append(text.substr(0, text.find_last_not_of(' ') + 1));
  out_ += '\n';
}

void TextPage::blank() { out_ += '\n'; }

void TextPage::paragraph(std::string_view text, int indent, std::optional<Ink> colour) {
  for (const std::string& part : wrap(text, width_ - indent))
    line(std::string(static_cast<std::size_t>(indent), ' ') +
         (colour ? style_.paint(part, *colour) : part));
}

void TextPage::head(std::string_view title, std::string_view columns_of_it) {
  blank();
  line(pad_right("  " + style_.bold(title), kLabelWidth) + style_.paint(columns_of_it, kQuiet));
}

std::string TextPage::with_unit(Bytes bytes) const {
  return fmt::format("{} {}", unit_.text(bytes), unit_.name);
}

void TextPage::headline(const std::string& model, const std::vector<std::string>& taken,
                        const std::string& right, std::vector<std::string> settings) {
  const std::string_view separator = style_.pick(" · ", ", ");
  std::string said;
  for (const std::string& word : taken) said += std::string(separator) + word;
  const bool is_beside = columns(model) + columns(said) + columns(right) + 2 <= width_;
  const int room = width_ - columns(said) - (is_beside ? columns(right) + 2 : 0);
  const std::string name = shorten(model, std::max(8, room), style_);
  const std::string left = style_.bold(name) + said;
  line(is_beside ? left + pad_left(right, width_ - columns(name) - columns(said)) : left);
  if (!is_beside && !right.empty()) settings.insert(settings.begin(), right);
  paragraph(fmt::format("{}", fmt::join(settings, separator)), 0, kQuiet);
  blank();
}

void TextPage::verdict(VerdictWord found, bool gives_back, Bytes used, const DeviceSummary& device,
                       Bytes room, const std::string& bar) {
  constexpr int kFigures = 44;  // what stands before the GPU's name, at most
  const Ink colour = found == VerdictWord::fits          ? kGood
                     : found == VerdictWord::may_not_fit ? ink(Category::gradient)
                                                         : kBad;
  const std::string told = in_words(found, gives_back);
  const std::string word = style_.bold(style_.paint(told, colour));
  const std::string total = with_unit(device.total_bytes);
  const int before_name = columns(fmt::format("  {}: {} of {} on ", told, unit_.text(used), total));
  line(fmt::format("  {}: {} of {} on {}", word, style_.bold(unit_.text(used)), total,
                   shorten(device.name, width_ - std::max(kFigures, before_name), style_)));
  bar_line(bar);
  line(fmt::format("  {} {}", human_bytes(room < 0 ? -room : room),
                   room < 0 ? "more than the driver gives" : "to spare of what the driver gives"));
}

void TextPage::bar_line(const std::string& bar) {
  if (style_.draws) line("  " + bar);
}

std::string TextPage::device_bar(std::span<const Portion> portions, Bytes full) const {
  const int cells = width_ - 2 * kIndent;
  std::string text;
  Bytes passed = 0;
  int drawn = 0;
  for (const Portion& portion : portions) {
    passed += portion.bytes;
    const auto share = static_cast<double>(passed) / static_cast<double>(std::max<Bytes>(full, 1));
    const auto until = static_cast<int>(share * cells + 0.5);
    std::string run;
    for (; drawn < until; ++drawn) run += portion.glyph;
    if (!run.empty()) text += style_.paint(run, portion.colour);
  }
  return text;
}

std::vector<TextPage::Portion> TextPage::portions_of(const CategoryBytes& bytes) const {
  std::vector<Portion> portions;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    portions.push_back({bytes[category], style_.fill(category), ink(category)});
  }
  return portions;
}

void TextPage::advice_that_fits(const std::vector<Advice>& advice) {
  for (const Advice& a : advice) {
    if (!a.fits || a.command.empty()) continue;
    blank();
    line("  " + style_.bold("what would make it fit") +
         fmt::format(": {}{}", with_unit(a.peak_device_bytes),
                     a.gives_back ? ", with cached segments given back" : ""));
    for (const std::string& row : command_lines(a.command, width_, 4, 8)) line(row);
    paragraph("costs " + a.cost, 4, kQuiet);
  }
}

void TextPage::advice_that_helps(const std::vector<Advice>& advice) {
  changes("what would lower it, and not enough", advice, false);
}

void TextPage::changes(std::string_view heading, const std::vector<Advice>& advice, bool fits) {
  if (std::ranges::none_of(advice, [fits](const Advice& a) { return a.fits == fits; })) return;
  blank();
  line("  " + style_.bold(heading));
  const int text_width = width_ - number_width_;
  for (const Advice& a : advice) {
    if (a.fits != fits) continue;
    const std::vector<std::string> rows = wrap(a.change, text_width - 2 * kIndent);
    for (std::size_t i = 0; i < rows.size(); ++i)
      line(i + 1 < rows.size()
               ? "  " + rows[i]
               : pad_right("  " + rows[i], text_width) + number(a.peak_device_bytes));
    paragraph("costs " + a.cost, 4, kQuiet);
  }
}

void TextPage::bounds_and_warnings(const std::optional<Bounds>& bounds,
                                   const std::vector<std::string>& warnings) {
  const bool is_range = bounds && bounds->low_bytes != bounds->high_bytes;
  const bool has_causes = bounds && !bounds->causes.empty();
  if (is_range || has_causes || !warnings.empty()) blank();
  if (has_causes && !bounds->has_upper_end)
    paragraph(fmt::format("At least {} on the device, and no upper end is known: {}",
                          with_unit(bounds->low_bytes), fmt::join(bounds->causes, "; ")),
              kIndent, kQuiet);
  else if (is_range)
    paragraph(fmt::format("Between {} and {} on the device: {}", unit_.text(bounds->low_bytes),
                          with_unit(bounds->high_bytes), fmt::join(bounds->causes, "; ")),
              kIndent, kQuiet);
  else if (has_causes)
    paragraph(fmt::format("Not known exactly: {}", fmt::join(bounds->causes, "; ")), kIndent,
              kQuiet);
  for (const std::string& warning : warnings)
    paragraph("warning: " + warning, kIndent, ink(Category::gradient));
}

}  // namespace memtape::report
