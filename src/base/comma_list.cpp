// SPDX-License-Identifier: Apache-2.0
#include "base/comma_list.h"

#include <algorithm>

namespace memtape {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma != 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

std::vector<std::string_view> parts_between(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  for (std::size_t at = 0; at <= text.size(); at += parts.back().size() + 1)
    parts.push_back(text.substr(at, text.find(separator, at) - at));
  return parts;
}

}  // namespace memtape
