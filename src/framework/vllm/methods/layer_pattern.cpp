// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/layer_pattern.h"

#include <cstddef>

#include "base/pattern.h"

namespace memtape::vllm {

bool matches_expression(std::string_view expression, std::string_view name) {
  return match_at_start(expression, name).value_or(false);
}

bool matches_shell_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace memtape::vllm
