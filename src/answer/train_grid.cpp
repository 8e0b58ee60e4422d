// SPDX-License-Identifier: Apache-2.0
#include "answer/train_grid.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "answer/table.h"
#include "base/comma_list.h"
#include "base/text.h"
#include "framework/train_arguments.h"
#include "report/style.h"

namespace memtape::answer {
namespace {

constexpr const char* kForm = "--grid \"micro-batch-size=1,2,4 sequence-length=1024,2048\"";
constexpr std::size_t kMostCells = 1024;

Result<void> check_option(const std::string& name) {
  std::vector<std::string_view> known;
  for (const option::Option* option : all_train_options()) known.push_back(option->name());
  if (std::ranges::find(known, name) != known.end() && name != "grid" && name != "gpu") return {};
  return bad_input("no option to vary is called \"" + name + "\"", "--grid",
                   name == "gpu" ? "--compare does that" : suggestion(name, known));
}

Result<GridAxis> axis_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos)
    return bad_input(fmt::format("\"{}\" names no values", word), "--grid", kForm);
  GridAxis axis{std::string(word.substr(0, equals)), split_at_commas(word.substr(equals + 1))};
  if (axis.option.starts_with("--")) axis.option.erase(0, 2);
  if (const auto known = check_option(axis.option); !known) return tl::unexpected(known.error());
  if (axis.values.empty())
    return bad_input(fmt::format("\"{}\" names no values", word), "--grid", kForm);
  return axis;
}

Result<std::vector<GridAxis>> axes_of(std::string_view text) {
  std::vector<GridAxis> axes;
  while (!(text = trimmed(text)).empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" ;\t\n"));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    Result<GridAxis> axis = axis_of(word);
    if (!axis) return tl::unexpected(axis.error());
    if (!axes.empty() &&
        with_changes({{axes.front().option, ""}}, std::array{NamedValue{axis->option, "?"}})
                .size() == 1)
      return bad_input(
          axes.front().option == axis->option
              ? fmt::format("{} is named twice", axis->option)
              : fmt::format("{} and {} set the same", axes.front().option, axis->option),
          "--grid", kForm);
    axes.push_back(std::move(*axis));
  }
  if (axes.empty() || axes.size() > 2)
    return bad_input(fmt::format("{} options", axes.size()), "--grid",
                     fmt::format("one or two, as in {}", kForm));
  return axes;
}

std::string cell_text(const VariantAnswer& answer) {
  if (!answer.is_possible()) return "-";
  const std::string number = gib_number(answer.needed_bytes);
  if (!answer.verdict || *answer.verdict == VerdictWord::fits)
    return number + (answer.without_limit_bytes ? " ~" : "  ");
  return number + (*answer.verdict == VerdictWord::may_not_fit ? " ?" : " x");
}

/// What the signs in the cells mean, and why some are empty.
std::string legend(const Grid& grid) {
  std::string out;
  const auto any = [&](auto is) { return std::ranges::any_of(grid.cells, is); };
  std::string device;
  for (const VariantAnswer& cell : grid.cells)
    if (cell.device) device = cell.device->name;
  std::string signs = "GiB per GPU";
  if (!device.empty()) signs += " on " + device;
  if (any([](const auto& c) { return c.verdict == VerdictWord::does_not_fit; }))
    signs += "; x: does not fit";
  if (any([](const auto& c) { return c.verdict == VerdictWord::may_not_fit; }))
    signs += "; ?: may not fit";
  if (any([](const auto& c) { return c.without_limit_bytes && c.verdict == VerdictWord::fits; }))
    signs += "; ~: fits with cached segments given back";
  out += signs + "\n";
  const auto failed =
      std::ranges::find_if(grid.cells, [](const auto& c) { return !c.is_possible(); });
  if (failed != grid.cells.end()) out += "-: " + failed->failure + "\n";
  return out;
}

}  // namespace

NamedValues Grid::changes(std::size_t cell) const {
  NamedValues found{{axes[0].option, axes[0].values[cell / columns()]}};
  if (axes.size() > 1) found.emplace_back(axes[1].option, axes[1].values[cell % columns()]);
  return found;
}

bool Grid::fits() const {
  return std::ranges::any_of(cells, [this](const auto& cell) { return passes(cell, strict); });
}

Result<Grid> grid_of(const Question& question, const std::string& text) {
  Result<std::vector<GridAxis>> axes = axes_of(text);
  if (!axes) return tl::unexpected(axes.error());
  std::vector<std::string> varied;
  for (const GridAxis& axis : *axes) {
    if (const auto fine = check_unsaid(question, axis.option, "--grid"); !fine)
      return tl::unexpected(fine.error());
    varied.push_back(axis.option);
  }
  Grid grid{question.model.id, title_of(question, varied), std::move(*axes), {}, question.strict};
  const std::size_t count = grid.axes[0].values.size() * grid.columns();
  if (count > kMostCells)
    return bad_input(fmt::format("{} cells", count), "--grid",
                     fmt::format("at most {}", kMostCells));
  std::vector<TrainVariant> variants;
  for (std::size_t cell = 0; cell < count; ++cell)
    variants.push_back({grid.changes(cell), question.device});
  grid.cells = question.answers(variants);
  const bool none = std::ranges::none_of(grid.cells, [](const auto& c) { return c.is_possible(); });
  if (none) return bad_input(grid.cells.front().failure, "--grid", "no cell is possible");
  return grid;
}

std::string text(const Grid& grid, Widths widths) {
  std::vector<Table::Align> columns{Table::Align::left};
  columns.insert(columns.end(), grid.columns(), Table::Align::right);
  Table table(std::move(columns));
  const bool is_matrix = grid.axes.size() > 1;
  Table::Row head{is_matrix ? grid.axes[0].option + " \\ " + grid.axes[1].option
                            : grid.axes[0].option};
  for (std::size_t column = 0; column < grid.columns(); ++column)
    head.push_back((is_matrix ? grid.axes[1].values[column] : "needs") + "  ");
  table.add(std::move(head));
  for (std::size_t row = 0; row < grid.axes[0].values.size(); ++row) {
    Table::Row cells{grid.axes[0].values[row]};
    for (std::size_t column = 0; column < grid.columns(); ++column)
      cells.push_back(cell_text(grid.cells[row * grid.columns() + column]));
    table.add(std::move(cells));
  }
  std::string out = grid.title + "\n" + table.text(widths.tables);
  const std::string told = legend(grid);
  for (std::size_t at = 0; at < told.size();) {
    const std::size_t end = told.find('\n', at);
    for (const std::string& line : report::wrap(told.substr(at, end - at), widths.sentences))
      out += line + "\n";
    at = end + 1;
  }
  return out;
}

std::string quiet_text(const Grid& grid) {
  std::string text;
  for (std::size_t cell = 0; cell < grid.cells.size(); ++cell) {
    std::string options;
    for (const auto& [option, value] : grid.changes(cell))
      options += fmt::format("{}{} {}", options.empty() ? "" : " ", option_text(option), value);
    text += grid.cells[cell].is_possible()
                ? quiet_line(std::move(options), grid.cells[cell])
                : fmt::format("{}: {}\n", options, grid.cells[cell].failure);
  }
  return text;
}

std::string json(const Grid& grid) {
  report::JsonWriter out(report::JsonWriter::Layout::pretty);
  out.begin_object();
  write_head(out, "grid", grid.model);
  out.key("cells");
  out.begin_array();
  for (std::size_t cell = 0; cell < grid.cells.size(); ++cell) {
    out.begin_object();
    out.key("options");
    out.begin_object();
    for (const auto& [option, value] : grid.changes(cell)) out.member(option, value);
    out.end_object();
    write_members(out, grid.cells[cell]);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::answer
