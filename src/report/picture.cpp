// SPDX-License-Identifier: Apache-2.0
#include "report/picture.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "report/in_flight.h"
#include "report/measured_step.h"
#include "report/unit.h"

namespace memtape::report {
namespace {

constexpr int kEighths = 8;
constexpr std::array<std::string_view, kEighths> kHeights{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"};
constexpr int kLimitIsNearPercent =
    130;  ///< of the highest level: farther away, the line would only flatten the picture

/// The highest moment among the events that share a column.
struct Column {
  CategoryBytes bytes;
  Levels levels;
};

/// A window of the step and the columns it was given.
struct Band {
  Phase phase;
  std::size_t first_event, last_event;
  int from = 0, width = 0;
};

/// Columns by share of events, each band first given what its name needs (or an equal part, where
/// that is too much).
std::vector<Band> bands(const MeasuredStep& step, int width) {
  std::vector<Band> list;
  for (const Window& w : step.windows)
    if (w.last_event > w.first_event) list.push_back({w.mark.phase, w.first_event, w.last_event});
  const int count = static_cast<int>(list.size());
  if (count == 0 || count > width) return {};
  constexpr int kRoomForAName = 11;
  const int least = std::min(kRoomForAName, width / count);
  const auto events = static_cast<std::int64_t>(step.last - step.first);
  int left = width - least * count, from = 0;
  std::int64_t seen = 0, given = 0;
  for (Band& b : list) {
    seen += static_cast<std::int64_t>(b.last_event - b.first_event);
    const std::int64_t due = seen * left / events;
    b.width = least + static_cast<int>(due - given);
    given = due;
    b.from = from;
    from += b.width;
  }
  return list;
}

/// Too many windows for one column each: the whole step as one nameless band.
std::vector<Band> one_band(const MeasuredStep& step, int width) {
  return {{Phase::init, step.first, step.last, 0, width}};
}

std::vector<Column> columns_of(const Trace& trace, const MeasuredStep& step,
                               const std::vector<Band>& bands) {
  std::vector<Column> columns(static_cast<std::size_t>(bands.back().from + bands.back().width));
  std::vector<char> seen(columns.size());
  StepWalk walk(trace, step);
  for (const Band& b : bands) {
    const std::size_t events = b.last_event - b.first_event;
    const auto width = static_cast<std::size_t>(b.width);
    for (std::size_t e = 0; e < events && walk.next(); ++e) {
      const Column now{walk.by_category(), walk.levels()};
      // With fewer events than columns, an event fills all of its share.
      const std::size_t from = e * width / events,
                        to = std::max(from + 1, (e + 1) * width / events);
      for (std::size_t c = from; c < to; ++c) {
        const std::size_t at = static_cast<std::size_t>(b.from) + c;
        if (!seen[at] || now.levels.allocated > columns[at].levels.allocated) columns[at] = now;
        seen[at] = 1;
      }
    }
  }
  return columns;
}

/// One character cell: what stands in it and in which colours; kPlain is the terminal's own.
struct Cell {
  static constexpr int kPlain = -1;
  std::string_view glyph = " ";
  int foreground = kPlain, ground = kPlain;
};

/// Cells as text, neighbours of equal colours under one escape sequence.
std::string line_of(const std::vector<Cell>& cells, const Style& style) {
  std::string line, run;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    run += cells[i].glyph;
    const bool last = i + 1 == cells.size() || cells[i + 1].foreground != cells[i].foreground ||
                      cells[i + 1].ground != cells[i].ground;
    if (!last) continue;
    const auto [glyph, foreground, ground] = cells[i];
    if (foreground == Cell::kPlain)
      line += run;
    else if (ground == Cell::kPlain)
      line += style.paint(run, static_cast<Ink>(foreground));
    else
      line += style.paint(run, static_cast<Ink>(foreground), static_cast<Ink>(ground));
    run.clear();
  }
  return line;
}

/// Draws a stack of categories cell by cell.
class Canvas {
 public:
  Canvas(const std::vector<Column>& columns, Bytes top, const PictureOptions& options)
      : columns_(columns), top_(top), options_(options) {}

  std::string row(int row) const {
    std::vector<Cell> cells;
    for (const Column& c : columns_) cells.push_back(cell(c, row));
    while (!cells.empty() && cells.back().glyph == " ") cells.pop_back();
    return line_of(cells, options_.style);
  }

 private:
  struct Fill {
    Category lower, upper;
    std::int64_t border;  ///< eighths of the cell that `lower` takes
  };

  Cell cell(const Column& c, int row) const {
    const Style& style = options_.style;
    const std::int64_t floor = std::int64_t{row} * kEighths;
    const std::int64_t height = eighths(c.levels.allocated) - floor;
    if (height <= 0) return empty(c, row);
    const auto [lower, upper, border] =
        fill(c.bytes, floor, std::min<std::int64_t>(height, kEighths));
    if (style.ascii) return {height * 2 >= kEighths ? style.fill(lower) : " ", ink(lower)};
    if (height < kEighths) return {kHeights[static_cast<std::size_t>(height)], ink(lower)};
    if (!style.colour || border >= kEighths) return {style.fill(lower), ink(lower)};
    return {kHeights[static_cast<std::size_t>(border)], ink(lower), ink(upper)};
  }

  std::int64_t eighths(Bytes bytes) const {
    const auto all = static_cast<double>(options_.height * kEighths);
    return static_cast<std::int64_t>(static_cast<double>(bytes) / static_cast<double>(top_) * all +
                                     0.5);
  }

  /// The one or two categories that cover most of the `height` eighths above `floor`, in the order
  /// of the stack.
  Fill fill(const CategoryBytes& bytes, std::int64_t floor, std::int64_t height) const {
    std::array<std::int64_t, kCategories> covered{};
    Bytes stacked = 0;
    for (std::size_t i = 0; i < kCategories; ++i) {
      const std::int64_t from = std::clamp<std::int64_t>(eighths(stacked) - floor, 0, height);
      stacked += bytes.bytes[i];
      covered[i] = std::clamp<std::int64_t>(eighths(stacked) - floor, 0, height) - from;
    }
    const auto most = [&covered] {
      return static_cast<std::size_t>(std::max_element(covered.begin(), covered.end()) -
                                      covered.begin());
    };
    const std::size_t first = most();
    const std::int64_t of_first = std::exchange(covered[first], 0);
    const std::size_t second = most();
    const auto category = [](std::size_t i) { return static_cast<Category>(i); };
    // A cell that is only partly full, or not coloured, shows one category.
    if (covered[second] == 0 || height < kEighths || !options_.style.colour)
      return {category(first), category(first), kEighths};
    if (first < second) return {category(first), category(second), of_first};
    return {category(second), category(first), covered[second]};
  }

  bool in_row(Bytes level, int row) const {
    const std::int64_t at = eighths(level);
    return at > std::int64_t{row} * kEighths && at <= std::int64_t{row + 1} * kEighths;
  }

  /// Above the stack: the line of the limit, the line of reserved bytes, or nothing.
  Cell empty(const Column& c, int row) const {
    const Style& style = options_.style;
    if (options_.limit && in_row(*options_.limit, row)) return {style.pick("╌", "-"), kBad};
    if (in_row(c.levels.reserved, row)) return {style.pick("·", "."), kQuiet};
    return {};
  }

  const std::vector<Column>& columns_;
  Bytes top_;
  const PictureOptions& options_;
};

std::string peak_line(const std::vector<Column>& columns, int margin, const PictureOptions& o) {
  const auto highest = std::max_element(
      columns.begin(), columns.end(),
      [](const Column& a, const Column& b) { return a.levels.allocated < b.levels.allocated; });
  const int at = margin + static_cast<int>(highest - columns.begin());
  const Unit unit = unit_for(highest->levels.allocated);
  const std::string label =
      fmt::format("peak {} {}", unit.text(highest->levels.allocated), unit.name);
  const std::string_view mark = o.style.pick("▼", "v");
  const int room = static_cast<int>(label.size()) + 1;
  if (at + 1 + room <= o.width)
    return std::string(static_cast<std::size_t>(at), ' ') + std::string(mark) + " " +
           o.style.bold(label);
  return std::string(static_cast<std::size_t>(std::max(0, at - room)), ' ') + o.style.bold(label) +
         " " + std::string(mark);
}

std::string phase_axis(const std::vector<Band>& bands, int margin, const Style& style) {
  std::string line = pad_left("0 ", margin - 1) + std::string(style.pick("└", "+"));
  for (const Band& b : bands)
    for (int c = 0; c < b.width; ++c)
      line += c + 1 == b.width && &b != &bands.back() ? style.pick("┴", "+") : style.pick("─", "-");
  return line;
}

/// The phase's name, its first three letters or nothing, whichever fits.
std::string_view label(const Band& band) {
  const std::string_view full = name(band.phase);
  if (band.phase == Phase::init) return "";
  if (static_cast<int>(full.size()) < band.width) return full;
  return band.width > 3 ? full.substr(0, 3) : "";
}

std::string names(const std::vector<Band>& bands, int margin, const Style& style) {
  std::string line(static_cast<std::size_t>(margin), ' ');
  for (const Band& b : bands) line += pad_right(std::string(label(b)), b.width);
  line.erase(line.find_last_not_of(' ') + 1);
  return style.paint(line, kQuiet);
}

/// What stands left of a row: its upper edge in the unit, at every other row.
std::string scale(int row, int margin, Bytes top, const PictureOptions& o) {
  const bool labelled = (o.height - 1 - row) % 2 == 0;
  const Bytes edge = top / o.height * (row + 1);
  const Unit unit = unit_for(top);
  const std::string number = labelled ? unit.text(edge) + " " : "";
  return pad_left(number, margin - 1) +
         std::string(labelled ? o.style.pick("┤", "|") : o.style.pick("│", "|"));
}

/// How many micro-batches are alive in a stage when each column begins.
std::string alive_line(const std::vector<InFlight>& flights, int stage,
                       const std::vector<Band>& bands, int margin) {
  std::string line = pad_left("stage " + std::to_string(stage), margin - 1) + " ";
  for (const Band& b : bands)
    for (int c = 0; c < b.width; ++c) {
      const std::size_t event = b.first_event + (b.last_event - b.first_event) *
                                                    static_cast<std::size_t>(c) /
                                                    static_cast<std::size_t>(b.width);
      const auto alive = std::count_if(flights.begin(), flights.end(), [&](const InFlight& f) {
        return f.stage == stage && f.from <= event && event < f.to;
      });
      constexpr std::string_view kCounts = " 123456789abcdefghijklmnopqrstuvwxyz";
      line += alive < static_cast<std::ptrdiff_t>(kCounts.size())
                  ? kCounts[static_cast<std::size_t>(alive)]
                  : '+';
    }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Below the picture of a pipeline: the micro-batches alive in each of the rank's stages.
void add_micro_batches(std::vector<std::string>& lines, const MeasuredStep& step,
                       const std::vector<Band>& bands, const PictureOptions& o) {
  constexpr int kMargin = 10;
  const std::vector<InFlight> flights = micro_batches_in_flight(step.windows);
  if (flights.empty()) return;
  const bool many = std::any_of(flights.begin(), flights.end(),
                                [](const InFlight& f) { return f.micro_batch > 8; });
  const std::string title = many ? "micro-batches alive (a: 10, b: 11 ...)" : "micro-batches alive";
  lines.push_back(std::string(kMargin, ' ') + o.style.paint(title, kQuiet));
  for (std::size_t i = 0; i < flights.size(); ++i)
    if (i == 0 || flights[i].stage != flights[i - 1].stage)
      lines.push_back(o.style.paint(alive_line(flights, flights[i].stage, bands, kMargin), kQuiet));
}

}  // namespace

std::vector<std::string> picture(const Trace& trace, const PictureOptions& options) {
  const MeasuredStep step = measured_step(trace);
  constexpr int kMargin = 10, kLeastColumns = 14;
  if (step.first >= step.last || options.width < kMargin + kLeastColumns) return {};
  const int width = options.width - kMargin;
  std::vector<Band> parts = bands(step, width);
  if (parts.empty()) parts = one_band(step, width);
  const std::vector<Column> columns = columns_of(trace, step, parts);

  Bytes top = 1;
  for (const Column& c : columns) top = std::max({top, c.levels.allocated, c.levels.reserved});
  PictureOptions o = options;
  if (o.limit && *o.limit > top / 100 * kLimitIsNearPercent) o.limit.reset();
  if (o.limit) top = std::max(top, *o.limit);

  std::vector<std::string> lines{peak_line(columns, kMargin, o)};
  const Canvas canvas(columns, top, o);
  for (int row = o.height - 1; row >= 0; --row) {
    lines.push_back(scale(row, kMargin, top, o) + canvas.row(row));
  }
  lines.push_back(phase_axis(parts, kMargin, o.style));
  lines.push_back(names(parts, kMargin, o.style));
  add_micro_batches(lines, step, parts, o);
  return lines;
}

}  // namespace memtape::report
