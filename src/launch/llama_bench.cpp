// SPDX-License-Identifier: Apache-2.0
// llama-bench measures every combination of the values it is given, each in a context of its own
// (tools/llama-bench/llama-bench.cpp): the answer is for the largest.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/typed_number.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {
namespace {

/// The largest number in "512,1024", "64-256+64", of all flags of that meaning.
std::int64_t largest(const ReadFlags& flags, std::string_view meaning, std::int64_t otherwise) {
  std::optional<std::int64_t> most;
  for (const GivenFlag& given : flags.given) {
    if (given.flag->meaning != meaning || given.values.empty()) continue;
    const std::string& text = given.values.front();
    for (std::size_t at = 0; at < text.size(); ++at) {
      const bool steps = at > 0 && (text[at - 1] == '+' || text[at - 1] == '*');
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(&text[at], text.data() + text.size(), value);
      if (error != std::errc()) continue;
      at = static_cast<std::size_t>(end - text.data());
      if (!steps) most = std::max(most.value_or(value), value);
    }
  }
  return most.value_or(otherwise);
}

/// -pg 512,128: prompt and answer in one context.
std::int64_t largest_pair(const ReadFlags& flags) {
  std::int64_t most = 0;
  for (const GivenFlag& given : flags.given) {
    if (given.flag->meaning != "both" || given.values.empty()) continue;
    std::int64_t both = 0;
    for (const std::string_view part : parts_between(given.values.front(), ','))
      both += whole_number(part).value_or(0);
    most = std::max(most, both);
  }
  return most;
}

/// The largest of several values of a flag that is no list itself.
std::string largest_value(std::string_view option, const std::string& text) {
  constexpr std::array<std::string_view, 9> kTypes{"iq4_nl", "q4_0", "q4_1", "q5_0", "q5_1",
                                                   "q8_0",   "f16",  "bf16", "f32"};
  if (option == "tensor-split" || option == "override-tensor") return text;
  std::string best;
  std::ptrdiff_t rank = -1;
  for (const std::string_view part : parts_between(text, ',')) {
    const std::ptrdiff_t at = std::ranges::find(kTypes, part) - kTypes.begin();
    if (best.empty() || (at > rank && at < std::ssize(kTypes))) best = part, rank = at;
  }
  return best;
}

std::span<const Flag> bench_flags() { return data::llama_bench_flags().flags; }

/// All options; none is left to the flags.
Result<void> begin_bench(const LaunchCommand&, const ReadFlags& flags, Translation& translation) {
  const std::int64_t tokens = std::max({largest(flags, "prompt", 512),
                                        largest(flags, "generate", 128), largest_pair(flags)}) +
                              largest(flags, "depth", 0);
  translation.add("parallel", "1");
  translation.add("n-outputs-max", "0");
  translation.add("ctx-size", tokens);
  for (const GivenFlag& given : flags.given) {
    const std::string_view option = given.flag->meaning;
    if (given.flag->effect != Effect::modelled || given.values.empty()) continue;
    const std::string value = largest_value(option, given.values.front());
    const bool is_number = option == "batch-size" || option == "ubatch-size" ||
                           (option == "n-gpu-layers" && value != "-1");
    if (option == "model")
      translation.model = value;
    else if (is_number)
      translation.add(option, largest(flags, option, 0));
    else if (option.starts_with("no-")) {
      if (value == "1") translation.add(option, "");
    } else if (option != "prompt" && option != "generate" && option != "both" && option != "depth")
      translation.add(option, value);
  }
  return {};
}

}  // namespace

const ServerProgram kLlamaBench{.name = "llama-bench",
                                .engine = "llamacpp",
                                .names_model = "-m FILE.gguf",
                                .is_python = false,
                                .passes_words = true,
                                .flags = bench_flags,
                                .begin = begin_bench,
                                .take = [](const GivenFlag&, Translation&) { return true; }};

}  // namespace memtape::launch
