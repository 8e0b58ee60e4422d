// SPDX-License-Identifier: Apache-2.0
// The answer of --grid: what each cell of two options' values needs.
#pragma once

#include "answer/train_question.h"

namespace memtape::answer {

struct GridAxis {
  std::string option;
  std::vector<std::string> values;
};

struct Grid {
  std::string model, title;
  std::vector<GridAxis> axes;        ///< one, or the rows' and the columns'
  std::vector<VariantAnswer> cells;  ///< row by row
  bool strict = false;

  std::size_t columns() const { return axes.size() > 1 ? axes[1].values.size() : 1; }
  NamedValues changes(std::size_t cell) const;
  /// Whether any cell does.
  bool fits() const;
};

Result<Grid> grid_of(const Question& question, const std::string& axes);

std::string text(const Grid& grid, int width);
std::string json(const Grid& grid);

}  // namespace memtape::answer
