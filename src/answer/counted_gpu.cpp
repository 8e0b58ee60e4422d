// SPDX-License-Identifier: Apache-2.0
#include "answer/counted_gpu.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "base/typed_number.h"

namespace memtape::answer {

CountedName counted_name(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view behind = trimmed(text.substr(digits));
  const bool is_before = digits > 0 && behind.size() > 1 &&
                         std::string_view("xX*").find(behind.front()) != std::string_view::npos;
  if (is_before)
    return {std::string(trimmed(behind.substr(1))), whole_number(text.substr(0, digits))};
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  const auto count = colon < text.size() ? whole_number(text.substr(colon + 1)) : std::nullopt;
  return {std::string(trimmed(count ? text.substr(0, colon) : text)), count};
}

void separate_gpu_count(NamedValues& values) {
  const std::string* said = last_value(values, "gpu");
  if (!said) return;
  const auto [name, count] = counted_name(*said);
  if (!count || *count < 1) return;
  const std::string* gpus = last_value(values, "gpus");
  if (gpus && whole_number(*gpus) != count) return;
  for (auto& [option, value] : values)
    if (option == "gpu") value = name;
  if (!gpus) values.emplace_back("gpus", fmt::format("{}", *count));
}

}  // namespace memtape::answer
