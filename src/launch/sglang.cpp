// SPDX-License-Identifier: Apache-2.0
// `python -m sglang.launch_server --model-path MODEL` and `sglang serve`: the same words as
// `memtape serve MODEL --engine sglang`.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "framework/sglang/serve.h"
#include "launch/config_words.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {
namespace {

constexpr const char* kSglangProgram = "sglang serve";

std::span<const Flag> sglang_flags() {
  static const std::vector<Flag> flags = as_served_by(sglang::kEngine, data::sglang_flags().flags);
  return flags;
}

bool is_sglang_count(std::string_view option) {
  constexpr std::array<std::string_view, 4> kCounts{"context-length", "max-total-tokens",
                                                    "max-prefill-tokens", "chunked-prefill-size"};
  return std::ranges::find(kCounts, option) != kCounts.end();
}

void add_variables(const LaunchCommand& command, Translation& translation) {
  ReadFlags read = read_variables(command, "SGLANG_", data::sglang_environment_flags().flags);
  read.unknown.clear();
  for (const GivenFlag& given : read.given)
    if (given.flag->effect == Effect::modelled)
      translation.add(given.flag->meaning, given.values.front());
  add_warnings(translation, read, "SGLang's environment");
}

}  // namespace

Result<Translation> translate_sglang(const LaunchCommand& command) {
  const std::span<const Flag> table = sglang_flags();
  const Result<std::vector<std::string>> words = with_config_file(command, table);
  if (!words) return tl::unexpected(words.error());
  const Result<ReadFlags> flags =
      read_flags(*words, table, {.program = kSglangProgram, .unknown_pass = true});
  if (!flags) return tl::unexpected(flags.error());
  // With attention of its own, data ranks are ranks of the tensor group.
  const bool inner = flags->has("enable-dp-attention");
  const auto ranks = inner ? product_of(*flags, {"tp-size", "pp-size"})
                           : product_of(*flags, {"tp-size", "pp-size", "dp-size"});
  Result<Translation> translation = begin_serving(command, "sglang", ranks);
  if (!translation) return translation;
  add_variables(command, *translation);
  for (const GivenFlag& given : flags->given) {
    if (given.flag->effect != Effect::modelled) continue;
    const std::string option(given.flag->meaning);
    const std::string value = given.values.empty() ? std::string() : given.values.front();
    if (option == "model") {
      translation->model = value;
    } else if (option == "cuda-graph-bs") {
      if (!given.values.empty()) translation->add("cuda-graph-max-bs", given.values.back());
    } else {
      translation->add(option, is_sglang_count(option) ? plain_number(value) : value);
    }
  }
  if (!flags->operands.empty()) translation->model = flags->operands.front();
  if (flags->operands.size() > 1)
    return bad_input(fmt::format("one word too many: {}", flags->operands[1]), kSglangProgram);
  if (translation->model.empty())
    return bad_input("no model is named", kSglangProgram, "sglang serve --model-path MODEL");
  add_warnings(*translation, *flags, kSglangProgram);
  translation->flags = table;
  return translation;
}

}  // namespace memtape::launch
