// SPDX-License-Identifier: Apache-2.0
#include "report/plan_picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::report {
namespace {

constexpr int kRows = 9, kMargin = 12;

struct Point {
  std::size_t plan = 0;
  double seconds = 0, gib = 0;
  bool on_front = false;
};

std::vector<Point> points_of(const PlanAnswer& answer) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < answer.plans.size(); ++i) {
    const PlanRow& plan = answer.plans[i];
    if (!plan.peak_device_bytes) continue;
    const auto bytes = plan.within_limit_bytes.value_or(*plan.peak_device_bytes);
    points.push_back({.plan = i,
                      .seconds = plan.step_seconds.mid,
                      .gib = static_cast<double>(bytes) / static_cast<double>(1_GiB),
                      .on_front = std::ranges::find(answer.pareto, i) != answer.pareto.end()});
  }
  return points;
}

/// Where a value lies between two others, in `steps`.
int cell_of(double value, double low, double high, int steps) {
  if (high <= low) return 0;
  return static_cast<int>(std::lround((value - low) / (high - low) * (steps - 1)));
}

/// A cell of the picture: the plan's number, or what stands for several.
using Cells = std::vector<std::vector<std::string>>;

void put(Cells& cells, const Point& point, int row, int column, const Style& style) {
  auto& line = cells[static_cast<std::size_t>(row)];
  const std::string number = fmt::format("{}", point.plan + 1);
  auto at = static_cast<std::size_t>(column);
  // The next free place to the right, as numbers must not lie on each other.
  const auto is_taken = [&](std::size_t from) {
    for (std::size_t i = from; i < from + number.size() + 1 && i < line.size(); ++i)
      if (line[i] != " ") return true;
    return from + number.size() > line.size();
  };
  while (at + number.size() < line.size() && is_taken(at)) ++at;
  if (is_taken(at)) return;
  for (std::size_t i = 0; i < number.size(); ++i)
    line[at + i] = point.on_front ? style.bold(number.substr(i, 1)) : number.substr(i, 1);
  if (point.on_front && at > 0 && line[at - 1] == " ") line[at - 1] = style.pick("●", "*");
}

std::string seconds_axis(double low, double high, int columns) {
  const std::string left = fmt::format("{:.3g} s", low), right = fmt::format("{:.3g} s", high);
  const int between =
      std::max(1, columns - static_cast<int>(left.size()) - static_cast<int>(right.size()));
  return std::string(kMargin, ' ') + left + std::string(static_cast<std::size_t>(between), ' ') +
         right + "\n";
}

}  // namespace

std::string picture(const PlanAnswer& answer, const PlanLook& look) {
  const std::vector<Point> points = points_of(answer);
  if (points.size() < 2) return {};
  const auto [fast, slow] = std::ranges::minmax(points, {}, &Point::seconds);
  const auto [small, large] = std::ranges::minmax(points, {}, &Point::gib);
  const int columns = std::clamp(look.width, 40, 100) - kMargin;
  Cells cells(kRows, std::vector<std::string>(static_cast<std::size_t>(columns), " "));
  for (const Point& point : points)
    put(cells, point, kRows - 1 - cell_of(point.gib, small.gib, large.gib, kRows),
        1 + cell_of(point.seconds, fast.seconds, slow.seconds, columns - 4), look.style);
  std::string out = fmt::format(
      "\n  time and memory of the fullest GPU; {} none is both faster and "
      "smaller\n",
      look.style.pick("●", "*"));
  for (int row = 0; row < kRows; ++row) {
    const double gib = large.gib - (large.gib - small.gib) * row / (kRows - 1);
    const bool labelled = row % 4 == 0;
    std::string line = labelled ? pad_left(fmt::format("{:.1f} GiB", gib), kMargin - 2) + " "
                                : std::string(kMargin - 1, ' ');
    line += look.style.pick("│", "|");
    for (const std::string& cell : cells[static_cast<std::size_t>(row)]) line += cell;
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out + seconds_axis(fast.seconds, slow.seconds, columns);
}

}  // namespace memtape::report
