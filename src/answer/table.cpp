// SPDX-License-Identifier: Apache-2.0
#include "answer/table.h"

#include <algorithm>

#include "report/style.h"

namespace memtape::answer {
namespace {

constexpr std::size_t kGap = 2, kFoldIndent = 4;

/// Where each column stands: in which line of a row, and from where on.
struct CellPlace {
  std::size_t line = 0, start = 0;
};

/// Columns side by side, in as many lines as `width` asks for; 0: in one.
std::vector<CellPlace> places_of(const std::vector<std::size_t>& widths, std::size_t width) {
  std::vector<CellPlace> places;
  CellPlace next;
  for (const std::size_t column : widths) {
    if (width > 0 && next.start > kFoldIndent && next.start + column > width)
      next = {next.line + 1, kFoldIndent};
    places.push_back(next);
    if (column > 0) next.start += column + kGap;
  }
  return places;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], static_cast<std::size_t>(report::columns(row[i])));
  return widths;
}

std::string Table::text(int width) const {
  const auto limit = static_cast<std::size_t>(std::max(width, 0));
  std::vector<std::size_t> widths = this->widths();
  std::vector<CellPlace> places = places_of(widths, 0);
  if (limit > 0 && !places.empty() && places.back().start + widths.back() > limit) {
    // The first column is where the names are: it gets what the others leave.
    const std::size_t others = places.back().start + widths.back() - widths.front();
    if (others + widths.front() / 2 <= limit) {
      widths.front() = limit - others;
      places = places_of(widths, 0);
    } else {
      places = places_of(widths, limit);
    }
  }
  std::string text;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_next = i > 0 && places[i].line > places[i - 1].line;
      if (is_next ||
          (i > 0 && static_cast<std::size_t>(report::columns(line)) + kGap > places[i].start &&
           widths[i] > 0)) {
        if (line.find_first_not_of(' ') != line.npos) end_line(text += line);
        line.clear();
      }
      line = report::pad_right(std::move(line), static_cast<int>(places[i].start));
      const auto cell = static_cast<int>(widths[i]);
      line += columns_[i] == Align::right ? report::pad_left(row[i], cell) : row[i];
    }
    end_line(text += line);
  }
  return text;
}

std::string clipped(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  std::size_t cut = width - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0u) == 0x80u) --cut;
  return std::string(text.substr(0, cut)) + "...";
}

}  // namespace memtape::answer
