// SPDX-License-Identifier: Apache-2.0
// The answer of --grid: what each combination of the values of two options needs.
#pragma once

#include "answer/table.h"
#include "answer/train_question.h"

namespace memtape::answer {

struct GridAxis {
  std::string option;
  std::vector<std::string> values;
};

struct Grid {
  std::string model, title;
  std::vector<GridAxis> axes;        ///< one axis, or one for the rows and one for the columns
  std::vector<VariantAnswer> cells;  ///< row by row
  bool strict = false;

  std::size_t columns() const { return axes.size() > 1 ? axes[1].values.size() : 1; }
  NamedValues changes(std::size_t cell) const;
  /// Whether any of the cells fits.
  bool fits() const;
};

Result<Grid> grid_of(const Question& question, const std::string& axes);

std::string text(const Grid& grid, Widths widths);
std::string quiet_text(const Grid& grid);
std::string json(const Grid& grid);

}  // namespace memtape::answer
