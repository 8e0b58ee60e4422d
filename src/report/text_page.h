// SPDX-License-Identifier: Apache-2.0
// TextPage: what the text reports of a training step and of a server have in common: the model's
// headline, the verdict for a GPU, the device as one bar, the heads of tables, advice, bounds and
// warnings. No line is longer than the page, and none ends in blanks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outcome/answer_parts.h"
#include "outcome/verdict_word.h"
#include "report/style.h"
#include "report/unit.h"
#include "tape/category.h"

namespace memtape::report {

class TextPage {
 public:
  static constexpr int kIndent = 2;
  /// The width of the tables' first column, with its indent.
  static constexpr int kLabelWidth = 24;

 protected:
  /// A part of the bar.
  struct Portion {
    Bytes bytes;
    std::string_view glyph;
    Ink colour;
  };

  /// `largest` decides the unit, and `number_width` is the number of columns for a number in that
  /// unit.
  TextPage(const Style& style, int width, Bytes largest, int number_width);

  void line(std::string_view text);
  void blank();
  /// Adds text of any length, broken at blanks, with each line indented.
  void paragraph(std::string_view text, int indent, std::optional<Ink> colour = {});
  /// Adds the head of a table: its title, and then the names of its columns.
  void head(std::string_view title, std::string_view columns_of_it);
  std::string number(Bytes bytes) const { return pad_left(unit_.text(bytes), number_width_); }
  std::string with_unit(Bytes bytes) const;

  /// Adds the model and what was assumed (`taken`), with `right` beside it or, if there is no room,
  /// below it; the other settings follow.
  void headline(const std::string& model, const std::vector<std::string>& taken,
                const std::string& right, std::vector<std::string> settings);
  /// Adds "fits: X of Y on GPU", the bar, and what is to spare or missing. If `gives_back` is set,
  /// the line says that it fits because cached segments go back.
  void verdict(VerdictWord word, bool gives_back, Bytes used, const DeviceSummary& device,
               Bytes room, const std::string& bar);
  /// Adds a bar, where bars are drawn.
  void bar_line(const std::string& bar);
  /// Draws the parts of a device of `full` bytes over the whole width.
  std::string device_bar(std::span<const Portion> portions, Bytes full) const;
  std::vector<Portion> portions_of(const CategoryBytes& bytes) const;
  /// Adds the changes that would make it fit, as commands that can be pasted.
  void advice_that_fits(const std::vector<Advice>& advice);
  void advice_that_helps(const std::vector<Advice>& advice);
  void bounds_and_warnings(const std::optional<Bounds>& bounds,
                           const std::vector<std::string>& warnings);

  std::string take() && { return std::move(out_); }

  const Style style_;
  const int width_;
  const Unit unit_;

 private:
  /// Adds the changes after which it fits (`fits`), or those after which it does not.
  void changes(std::string_view heading, const std::vector<Advice>& advice, bool fits);

  const int number_width_;
  std::string out_;
};

}  // namespace memtape::report
