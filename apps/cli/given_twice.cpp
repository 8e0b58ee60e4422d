// SPDX-License-Identifier: Apache-2.0
#include "given_twice.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace memtape::cli {

using answer::NamedOption;

std::optional<Error> said_twice(std::span<const answer::NamedOption> table,
                                std::span<const std::pair<std::string, std::string>> typed) {
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const auto& [name, value] = typed[i];
    const auto row = std::ranges::find(table, name, &NamedOption::name);
    if (row == table.end() || row->repeatable) continue;
    for (std::size_t j = i + 1; j < typed.size(); ++j)
      if (typed[j].first == name && typed[j].second != value)
        return Error{ErrorKind::bad_input,
                     fmt::format("is given twice, as {} and {}", value, typed[j].second),
                     "--" + name, "leave out one of them"};
  }
  return std::nullopt;
}

}  // namespace memtape::cli
