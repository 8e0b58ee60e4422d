// SPDX-License-Identifier: Apache-2.0
#include "report/rank_grid.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace memtape::report {
namespace {

constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kDigits{"1", "2", "3", "4", "5", "6", "7", "8"};
/// From light to dark of one hue, in the 256-colour palette.
constexpr std::array<Ink, 8> kInks{109, 73, 72, 71, 107, 143, 179, 167};

std::size_t step_of(Bytes peak, const RankGrid& grid) {
  if (grid.highest == grid.lowest) return kBlocks.size() - 1;
  const double share =
      static_cast<double>(peak - grid.lowest) / static_cast<double>(grid.highest - grid.lowest);
  return std::min(kBlocks.size() - 1, static_cast<std::size_t>(share * kBlocks.size()));
}

}  // namespace

RankGrid rank_grid(const std::vector<RankReport>& ranks, std::size_t width) {
  std::map<int, std::vector<std::pair<int, Bytes>>> stages;
  RankGrid grid;
  for (const RankReport& report : ranks) {
    const Bytes peak = report.peak_device_bytes;
    grid.lowest = grid.highest == 0 ? peak : std::min(grid.lowest, peak);
    grid.highest = std::max(grid.highest, peak);
    for (const int rank : report.ranks) stages[report.stage].emplace_back(rank, peak);
  }
  std::size_t longest = 0;
  for (auto& [stage, members] : stages) {
    std::sort(members.begin(), members.end());
    longest = std::max(longest, members.size());
  }
  grid.ranks_per_cell =
      std::max<std::size_t>(1, (longest + width - 1) / std::max<std::size_t>(1, width));
  for (const auto& [stage, members] : stages) {
    RankGrid::Row row{.stage = stage, .first_rank = {}, .peaks = {}};
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i % grid.ranks_per_cell == 0) {
        row.first_rank.push_back(members[i].first);
        row.peaks.push_back(0);
      }
      row.peaks.back() = std::max(row.peaks.back(), members[i].second);
    }
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

std::vector<std::string> text_lines(const RankGrid& grid, const Style& style) {
  std::vector<std::string> lines;
  const auto& glyphs = style.ascii ? kDigits : kBlocks;
  for (const RankGrid::Row& row : grid.rows) {
    std::string line = pad_right(fmt::format("stage {}", row.stage), 10);
    for (const Bytes peak : row.peaks) {
      const std::size_t step = step_of(peak, grid);
      line += style.paint(glyphs[step], kInks[step]);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace memtape::report
