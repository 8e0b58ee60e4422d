// SPDX-License-Identifier: Apache-2.0
#include "model/config_fields.h"

#include <algorithm>

#include "base/text.h"

namespace memtape {

Result<void> check_keys(const Config& object, const std::string& place,
                        const std::vector<std::string_view>& lists) {
  std::vector<std::string_view> known;
  for (const std::string_view names : lists)
    option::each_word(names, [&](std::string_view name) { known.push_back(name); });
  for (const std::string& key : object.keys())
    if (std::ranges::find(known, key) == known.end())
      return unsupported("\"" + key + "\" is not modelled", place, suggestion(key, known));
  return {};
}

Result<void> check_silent(const Config& object, std::string_view names) {
  std::string_view said;
  option::any_word(names, [&](std::string_view name) {
    const std::string value = object.json(name);
    if (value != "null" && value != "false" && value != "{}" && value != "[]") said = name;
    return !said.empty();
  });
  if (said.empty()) return {};
  return unsupported("\"" + std::string(said) + "\" is not modelled", object.where(),
                     "leave it out");
}

tl::unexpected<Error> no_choice(std::string_view other, const std::string& word, std::string place,
                                const std::vector<std::string_view>& names) {
  const std::string quoted = "\"" + word + "\"";
  std::string hint = suggestion(word, names);
  if (other.empty())
    return unsupported(quoted + " is not modelled", std::move(place), std::move(hint));
  return bad_input(std::string(other) + " " + quoted, std::move(place), std::move(hint));
}

Result<DType> named_dtype(const std::string& word, std::string place) {
  static constexpr auto kNames =
      choices<DType>("unknown dtype", {{"bf16", DType::bfloat16},
                                       {"bfloat16", DType::bfloat16},
                                       {"torch.bfloat16", DType::bfloat16},
                                       {"fp16", DType::float16},
                                       {"float16", DType::float16},
                                       {"torch.float16", DType::float16},
                                       {"fp32", DType::float32},
                                       {"float32", DType::float32},
                                       {"torch.float32", DType::float32}});
  return choose(kNames, word, std::move(place));
}

}  // namespace memtape
