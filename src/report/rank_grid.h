// SPDX-License-Identifier: Apache-2.0
// RankGrid: the ranks of a job as a picture: a row for each pipeline stage, its ranks side by side
// in their order, each as full as its peak. Of many ranks several share a cell, which shows the
// fullest of them.
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
    std::vector<int> first_rank;  ///< of each cell
    std::vector<Bytes> peaks;     ///< on the device
  };
  std::vector<Row> rows;
  Bytes lowest = 0, highest = 0;
  std::size_t ranks_per_cell = 1;
};

/// With at most `width` cells a row.
RankGrid rank_grid(const std::vector<RankReport>& ranks, std::size_t width);

/// A line a row; cells are drawn between the lowest and the highest peak.
std::vector<std::string> text_lines(const RankGrid& grid, const Style& style);

}  // namespace memtape::report
