// SPDX-License-Identifier: Apache-2.0
// Table: rows of text in aligned columns, two spaces apart, without trailing spaces.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memtape::answer {

class Table {
 public:
  enum class Align { left, right };
  using Row = std::vector<std::string>;

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// A row needs as many cells as there are columns.
  void add(Row row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<Align> columns_;
  std::vector<Row> rows_;
};

/// `text`, or its beginning and "..." if it has more than `width` bytes. It is never cut within a
/// character.
std::string clipped(std::string_view text, std::size_t width);

}  // namespace memtape::answer
