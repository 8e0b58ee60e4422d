// SPDX-License-Identifier: Apache-2.0
// `vllm serve MODEL` and `python -m vllm.entrypoints.openai.api_server --model MODEL`: the same
// words as `memtape serve MODEL --engine vllm`, with the API server's defaults.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "launch/programs.h"
#include "launch/vllm_arguments.h"

namespace memtape::launch {
namespace {

/// vLLM's human_readable_int: "8k" is 8000, "8K" 8192, "1.5k" 1500. What is no such number stays.
std::string plain_number(const std::string& text) {
  constexpr std::string_view kUnits = "kmgt";
  if (text.size() < 2) return text;
  const char last = text.back();
  const std::size_t unit =
      kUnits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(last))));
  if (unit == std::string_view::npos) return text;
  double value = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return text;
  const bool binary = std::isupper(static_cast<unsigned char>(last)) != 0;
  const double scaled = value * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(unit + 1));
  return fmt::format("{:.0f}", scaled);
}

bool is_count(std::string_view option) {
  constexpr std::array<std::string_view, 4> kCounts{
      "max-model-len", "max-num-seqs", "max-num-batched-tokens", "kv-cache-memory-bytes"};
  return std::ranges::find(kCounts, option) != kCounts.end();
}

std::string ranks_of(const ReadFlags& flags) {
  std::int64_t ranks = 1;
  for (const char* size :
       {"tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"}) {
    const std::optional<std::string> text = flags.value(size);
    std::int64_t value = 0;
    if (!text) continue;
    const auto [at, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    constexpr std::int64_t kMost = 4096;
    if (error != std::errc() || value < 1 || value > kMost) return {};
    ranks *= value;
  }
  return fmt::format("{}", ranks);
}

}  // namespace

Result<Translation> translate_vllm(const LaunchCommand& command) {
  const Result<ReadFlags> flags =
      read_flags(command.arguments, kVllmArguments, {.program = "vllm serve"});
  if (!flags) return tl::unexpected(flags.error());
  Translation translation = begin_translation(command, Translation::Command::serve);
  translation.engine = "vllm";
  const std::string ranks = ranks_of(*flags);
  if (!ranks.empty()) translation.options.emplace_back("gpus", ranks);
  translation.options.emplace_back("usage-context", "api-server");
  for (const GivenFlag& given : flags->given) {
    if (given.flag->effect != Effect::modelled) continue;
    const std::string option(given.flag->meaning);
    const std::string value = given.values.empty() ? std::string() : given.values.front();
    if (option == "model")
      translation.model = value;
    else
      translation.options.emplace_back(option, is_count(option) ? plain_number(value) : value);
  }
  if (!flags->operands.empty()) translation.model = flags->operands.front();
  if (flags->operands.size() > 1)
    return bad_input(fmt::format("one word too many: {}", flags->operands[1]), "vllm serve");
  if (translation.model.empty())
    return bad_input("no model is named", "vllm serve", "vllm serve MODEL");
  for (std::string& line : not_modelled(*flags, "vllm serve"))
    translation.warnings.push_back(std::move(line));
  return translation;
}

}  // namespace memtape::launch
