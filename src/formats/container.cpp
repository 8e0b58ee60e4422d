// SPDX-License-Identifier: Apache-2.0
#include "formats/container.h"

#include <algorithm>

namespace memtape {

void merge_containers(std::vector<Container>& into, std::vector<Container> more) {
  for (Container& later : more) {
    const auto at = std::ranges::find(into, later.name, &Container::name);
    if (at == into.end()) {
      into.push_back(std::move(later));
      continue;
    }
    if (!later.image.empty()) at->image = std::move(later.image);
    if (!later.entry_point.empty()) at->entry_point = std::move(later.entry_point);
    if (!later.command.empty()) at->command = std::move(later.command);
    if (later.gpus) at->gpus = at->gpus.value_or(0) + *later.gpus;
    for (auto& [name, value] : later.environment) {
      std::erase_if(at->environment, [&](const auto& held) { return held.first == name; });
      at->environment.emplace_back(std::move(name), std::move(value));
    }
  }
}

}  // namespace memtape
