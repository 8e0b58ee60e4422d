// SPDX-License-Identifier: Apache-2.0
// RankGrid: the ranks of a job as a picture. Each pipeline stage is a row with its ranks side by
// side in order, and each cell is filled in proportion to the rank's peak. If there are many ranks,
// several share a cell, which shows the fullest one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "outcome/prediction.h"
#include "report/style.h"

namespace memtape::report {

struct RankGrid {
  struct Row {
    int stage = 0;
    std::vector<int> first_rank;  ///< one for each cell
    std::vector<Bytes> peaks;     ///< the peak on the device of each cell
  };
  std::vector<Row> rows;
  Bytes lowest = 0, highest = 0;
  std::size_t ranks_per_cell = 1;
};

/// Each row has at most `width` cells.
RankGrid rank_grid(const std::vector<RankReport>& ranks, std::size_t width);

/// One line for each row. Cells are drawn on a scale from the lowest to the highest peak.
std::vector<std::string> text_lines(const RankGrid& grid, const Style& style);

}  // namespace memtape::report
