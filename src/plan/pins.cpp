// SPDX-License-Identifier: Apache-2.0
#include "plan/pins.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"
#include "workload/train_options.h"

namespace memtape::plan {
namespace {

constexpr std::int64_t kMostSize = 1 << 20;

/// The words of an axis that is no number; their positions are the values.
std::vector<std::string_view> words_of(Axis axis) {
  switch (axis) {
    case Axis::method: return {"full", "lora", "qlora"};
    case Axis::sharding: return {"none", "ddp", "full", "hybrid", "grad-op", "full-sync"};
    case Axis::offload: return {"none", "optimizer", "all"};
    case Axis::optim: return {"adamw", "adamw-8bit"};
    case Axis::checkpointing: return {"none", "full", "full-reentrant", "selective", "layer"};
    default: return {};
  }
}

/// Other names that the same pin goes by.
struct Alias {
  std::string_view name;
  Axis axis;
};
constexpr auto kAliases = std::to_array<Alias>({
    {"per_device_train_batch_size", Axis::micro_batch},
    {"gradient_checkpointing", Axis::checkpointing},
});

std::optional<Axis> axis_of(std::string_view option) {
  for (std::size_t i = 0; i < kAxes; ++i)
    if (const auto axis = static_cast<Axis>(i); option_of(axis) == option) return axis;
  for (const Alias& alias : kAliases)
    if (alias.name == option) return alias.axis;
  return std::nullopt;
}

tl::unexpected<Error> wrong(const NamedValue& option, std::string_view word, std::string hint) {
  return bad_input(fmt::format("unusable value \"{}\"", word), "--" + option.first,
                   std::move(hint));
}

Result<std::int64_t> value_of(Axis axis, const NamedValue& option, std::string_view word) {
  if (const auto words = words_of(axis); !words.empty()) {
    if (option.first == "gradient_checkpointing") word = word == "true" ? "full" : "none";
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) return wrong(option, word, suggestion(word, words));
    return found - words.begin();
  }
  const std::optional<std::int64_t> n = whole_number(word);
  const std::int64_t least = axis == Axis::zero || axis == Axis::layers ? 0 : 1;
  if (!n || *n < least || *n > kMostSize)
    return wrong(option, word, "a whole number, or several with commas: 1,2,4,8");
  return *n;
}

}  // namespace

Result<Pins> take_pins(NamedValues& options) {
  Pins pins;
  for (const NamedValue& option : options) {
    const std::optional<Axis> axis = axis_of(option.first);
    if (!axis) continue;
    std::vector<std::int64_t> values;
    for (const std::string& word : split_at_commas(option.second)) {
      const auto value = value_of(*axis, option, trimmed(word));
      if (!value) return tl::unexpected(value.error());
      if (std::ranges::find(values, *value) == values.end()) values.push_back(*value);
    }
    if (values.empty()) return wrong(option, option.second, "a value, or several with commas");
    pins.set(*axis, std::move(values));
  }
  std::erase_if(options,
                [](const NamedValue& option) { return axis_of(option.first).has_value(); });
  return pins;
}

std::string value_text(Axis axis, std::int64_t value) {
  const auto words = words_of(axis);
  return words.empty() ? fmt::format("{}", value)
                       : std::string(words[static_cast<std::size_t>(value)]);
}

}  // namespace memtape::plan
