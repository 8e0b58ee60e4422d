// SPDX-License-Identifier: Apache-2.0
#include "answer/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace memtape::answer {

std::string Table::text() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += "  ";
      text += columns_[i] == Align::right ? fmt::format("{:>{}}", row[i], widths[i])
                                          : fmt::format("{:<{}}", row[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
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
