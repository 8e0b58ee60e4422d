// SPDX-License-Identifier: Apache-2.0
// llama-bench measures every combination of the values it is given, each in a context of its own
// (tools/llama-bench/llama-bench.cpp): the answer is for the largest.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {
namespace {

constexpr const char* kBenchProgram = "llama-bench";

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
    const std::string& text = given.values.front();
    const std::size_t comma = std::min(text.find(','), text.size());
    std::int64_t prompt = 0, answer = 0;
    std::from_chars(text.data(), text.data() + comma, prompt);
    if (comma < text.size())
      std::from_chars(text.data() + comma + 1, text.data() + text.size(), answer);
    most = std::max(most, prompt + answer);
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
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string part = text.substr(from, comma - from);
    const std::ptrdiff_t at = std::ranges::find(kTypes, part) - kTypes.begin();
    if (best.empty() || (at > rank && at < std::ssize(kTypes))) best = part, rank = at;
    from = comma + 1;
  }
  return best;
}

}  // namespace

Result<Translation> translate_llama_bench(const LaunchCommand& command) {
  const Result<ReadFlags> flags = read_flags(command.arguments, data::llama_bench_flags().flags,
                                             {.program = kBenchProgram,
                                              .prefixes = false,
                                              .attached_values = false,
                                              .unknown_pass = true});
  if (!flags) return tl::unexpected(flags.error());
  Result<Translation> translation = begin_serving(command, "llamacpp", std::nullopt);
  if (!translation) return translation;
  const std::int64_t tokens = std::max({largest(*flags, "prompt", 512),
                                        largest(*flags, "generate", 128), largest_pair(*flags)}) +
                              largest(*flags, "depth", 0);
  auto& options = translation->options;
  options.insert(options.end(), {{"parallel", "1"}, {"n-outputs-max", "0"}});
  options.emplace_back("ctx-size", fmt::format("{}", tokens));
  for (const GivenFlag& given : flags->given) {
    const std::string_view option = given.flag->meaning;
    if (given.flag->effect != Effect::modelled || given.values.empty()) continue;
    const std::string value = largest_value(option, given.values.front());
    if (option == "model")
      translation->model = value;
    else if (option == "batch-size" || option == "ubatch-size")
      options.emplace_back(option, fmt::format("{}", largest(*flags, option, 0)));
    else if (option == "n-gpu-layers")
      options.emplace_back(option,
                           value == "-1" ? value : fmt::format("{}", largest(*flags, option, 0)));
    else if (option.starts_with("no-")) {
      if (value == "1") options.emplace_back(option, "");
    } else if (option != "prompt" && option != "generate" && option != "both" && option != "depth")
      options.emplace_back(option, value);
  }
  if (const auto named = check_model(*translation, kBenchProgram, "llama-bench -m FILE.gguf");
      !named)
    return tl::unexpected(named.error());
  add_warnings(*translation, *flags, kBenchProgram);
  translation->flags = data::llama_bench_flags().flags;
  return translation;
}

}  // namespace memtape::launch
