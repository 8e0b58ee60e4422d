// SPDX-License-Identifier: Apache-2.0
#include "formats/assignments.h"

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"

namespace memtape {

std::string python_value(std::string_view text) {
  std::int64_t product = 1;
  for (const std::string_view factor : parts_between(text, '*')) {
    const std::optional<std::int64_t> number = whole_number(trimmed(factor));
    if (!number) {
      const bool quoted = text.size() > 1 && (text.front() == '\'' || text.front() == '"');
      return std::string(quoted ? text.substr(1, text.size() - 2) : text);
    }
    product *= *number;
  }
  return fmt::format("{}", product);
}

void set_assignments(std::string_view text, std::string_view file, Settings& settings) {
  int line = 0;
  for (std::string_view row : parts_between(text, '\n')) {
    ++line;
    row = row.substr(0, row.find('#'));
    const std::size_t equals = row.find('=');
    if (equals == std::string_view::npos || row.front() == ' ') continue;
    const std::string_view name = trimmed(row.substr(0, equals));
    settings.set_text(name, python_value(trimmed(row.substr(equals + 1))),
                      fmt::format("{}: {}", place_in(file, line), name));
  }
}

}  // namespace memtape
