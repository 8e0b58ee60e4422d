// SPDX-License-Identifier: Apache-2.0
#include "answer/given_twice.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "answer/train_options.h"

namespace memtape::answer {

std::optional<Error> said_twice(std::span<const std::pair<std::string, std::string>> typed) {
  const std::span<const NamedOption> table = train_options();
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

}  // namespace memtape::answer
