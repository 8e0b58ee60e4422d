// SPDX-License-Identifier: Apache-2.0
// Table: rows of text in aligned columns, two spaces apart, without trailing spaces. Where a width is
// asked for and the rows are longer, names that are too long for it stand on a line of their own; and
// where that does not help, each row goes on in lines below, as its head does.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memtape::answer {

/// How wide sentences and the rows of tables are.
struct Widths {
  int sentences = 80;
  int tables = 0;  ///< 0: as long as the rows are, for a reader that is a program
};

class Table {
 public:
  enum class Align { left, right };
  using Row = std::vector<std::string>;

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// A row needs as many cells as there are columns.
  void add(Row row) { rows_.push_back(std::move(row)); }
  /// `width` as in Widths.
  std::string text(int width = 0) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<Align> columns_;
  std::vector<Row> rows_;
};

/// `text`, or its beginning and "..." if it has more than `width` bytes. It is never cut within a
/// character.
std::string clipped(std::string_view text, std::size_t width);

}  // namespace memtape::answer
