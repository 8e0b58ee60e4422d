// SPDX-License-Identifier: Apache-2.0
#include "help_page.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework_defaults.h"
#include "option/help.h"
#include "report/style.h"

namespace memtape::cli {
namespace {

using option::Option;

constexpr int kWidestHelp = 110;

/// What an option does, what may be said, and what holds if nothing is said.
std::string right_of(const Option& option) {
  std::string text = option.help_text();
  const std::string choices = fmt::format("{}", fmt::join(option.choices(), ", "));
  if (!choices.empty() && text.find(choices) == text.npos)
    text += ": " + choices + (option.has_only_choices() ? "" : " ...");
  if (!option.default_text.empty()) text += fmt::format(" (default: {})", option.default_text);
  return text;
}

/// A form that lists its choices is short here: they stand in the right column.
std::string shown_left(const Option& option) {
  if (option.choices().empty() || option.form.find('{') == option.form.npos)
    return option::left_of(option);
  return fmt::format("{} {}", option.spellings, "NAME");
}

class HelpPage {
 public:
  HelpPage(int width, std::string_view first)
      : width_(std::min(width, kWidestHelp)), column_(width_ >= 72 ? 28 : 12), first_(first) {}

  void paragraph(std::string_view text) {
    for (const std::string& line : report::wrap(text, width_)) out_ += line + "\n";
  }

  /// Two columns, the right one below where the left one is long.
  void row(std::string_view left, std::string_view right) {
    const auto at = static_cast<std::size_t>(column_);
    std::string line = fmt::format("  {}", left);
    const bool is_beside = line.size() + 2 <= at;
    if (!is_beside) out_ += std::exchange(line, "") + "\n";
    for (const std::string& part : report::wrap(right, width_ - column_)) {
      line.resize(at, ' ');
      out_ += std::exchange(line, "") + part + "\n";
    }
    if (is_beside && !line.empty()) out_ += line + "\n";
  }

  bool shows(const Option& option) const {
    return !option.help.empty() &&
           (first_.empty() || option.name() == "help" ||
            option::any_word(first_, [&](auto word) { return word == option.name(); }));
  }

  void options(std::string_view heading, const option::Table& table) {
    if (std::ranges::none_of(table, [&](const Option* o) { return shows(*o); })) return;
    out_ += fmt::format("\n{}\n", heading);
    for (const Option* option : table)
      if (shows(*option)) row(shown_left(*option), right_of(*option));
  }

  void heading(std::string_view text) { out_ += fmt::format("\n{}:\n", text); }
  void line(std::string_view text) { out_ += fmt::format("{}\n", text); }

  /// Words of a shell, which go on in the next line behind a backslash.
  void command(std::string_view words) {
    std::vector<std::string> lines = report::wrap(words, width_ - 4);
    for (std::size_t i = 0; i < lines.size(); ++i)
      line(fmt::format("  {}{}", lines[i], i + 1 < lines.size() ? " \\" : ""));
  }

  std::string take() && { return std::move(out_); }

 private:
  const int width_, column_;
  const std::string_view first_;
  std::string out_;
};

option::Table of_group(const option::Table& table, std::string_view group,
                       std::span<const option::Section> sections) {
  option::Table part = table;
  std::erase_if(part, [&](const Option* option) {
    return option->group.name != group ||
           std::ranges::any_of(sections, [option](const option::Section& section) {
             return std::ranges::find(section.table, option) != section.table.end();
           });
  });
  return part;
}

/// The engines, or the frameworks with what they take if nothing is said.
void show_kinds(const option::Syntax& syntax, bool in_full, HelpPage& page) {
  if (!syntax.sections.empty()) page.heading("Engines");
  for (const option::Section& section : syntax.sections) {
    const std::size_t colon = section.heading.find(": ");
    page.row(section.heading.substr(0, colon), section.heading.substr(colon + 2));
  }
  if (!option::named(syntax.table, "framework")) return;
  page.heading("What frameworks take if nothing is said");
  for (const FrameworkDefaults& known : framework_defaults())
    page.row(known.name, in_full ? fmt::format("{}: {}", known.summary, known.text) : known.text);
}

/// The options of the first screen in one list, or all of them by group.
void show_options(const option::Syntax& syntax, bool in_full, HelpPage& page) {
  if (!in_full) return page.options("Options:", syntax.table);
  for (const std::string_view group : option::groups_of(syntax.table))
    page.options(fmt::format("{}:", group.empty() ? "Options" : group),
                 of_group(syntax.table, group, syntax.sections));
  for (const option::Section& section : syntax.sections)
    page.options(section.heading, section.table);
}

}  // namespace

std::string help_page(const option::Syntax& syntax, int width, std::string_view first) {
  HelpPage page(width, first);
  page.paragraph(syntax.summary);
  page.paragraph("Usage: " + option::usage(syntax));
  if (!syntax.operands.empty()) page.heading("Positionals");
  for (const option::Operand& operand : syntax.operands) page.row(operand.name, operand.help);
  show_options(syntax, first.empty(), page);
  show_kinds(syntax, first.empty(), page);
  page.heading("Example");
  page.command(syntax.example);
  if (!first.empty())
    page.line(fmt::format("\nmemtape {} --help --all   every option", syntax.command));
  return std::move(page).take();
}

bool wants_all_help(option::Arguments typed) {
  return std::ranges::find(typed, std::string_view("--all")) != typed.end();
}

}  // namespace memtape::cli
