// SPDX-License-Identifier: Apache-2.0
// `python -m sglang.launch_server --model-path MODEL` and `sglang serve`: the same words as
// `memtape serve MODEL --engine sglang`.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "launch/config_words.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {
namespace {

constexpr const char* kSglangProgram = "sglang serve";

bool is_sglang_count(std::string_view option) {
  constexpr std::array<std::string_view, 4> kCounts{"context-length", "max-total-tokens",
                                                    "max-prefill-tokens", "chunked-prefill-size"};
  return std::ranges::find(kCounts, option) != kCounts.end();
}

/// Variables that decide memory (srt/environ.py); others are many, and change none.
constexpr auto kVariables = std::to_array<Flag>({
    {"SGLANG_MAMBA_SSM_DTYPE", Arity::one, Effect::modelled, "mamba-ssm-dtype"},
    {"SGLANG_ENABLE_POST_CAPTURE_KV_SIZING", Arity::one, Effect::not_modelled},
    {"SGLANG_SYMM_MEM_PREALLOC_GB_SIZE", Arity::one, Effect::not_modelled},
    {"SGLANG_FLASHINFER_WORKSPACE_SIZE", Arity::one, Effect::not_modelled},
    {"SGLANG_ROPE_CACHE_SAFETY_MARGIN", Arity::one, Effect::not_modelled},
    {"SGLANG_ROPE_CACHE_ALIGN", Arity::one, Effect::not_modelled},
    {"SGLANG_MAMBA_CONV_DTYPE", Arity::one, Effect::not_modelled},
    {"SGLANG_MM_FEATURE_CACHE_MB", Arity::one, Effect::not_modelled},
    {"SGLANG_EMBEDDING_POOL_SIZE_MB", Arity::one, Effect::not_modelled},
    {"SGLANG_DISAGG_STAGING_BUFFER", Arity::one, Effect::not_modelled},
    {"SGLANG_MOONCAKE_CUSTOM_MEM_POOL", Arity::one, Effect::not_modelled},
    {"SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB", Arity::one, Effect::not_modelled},
    {"SGLANG_MEMORY_SAVER_CUDA_GRAPH", Arity::one, Effect::not_modelled},
    {"SGLANG_ENABLE_GRAPH_POOL_BORROW", Arity::one, Effect::not_modelled},
    {"SGLANG_ENABLE_GRAPH_POOL_PRECARVE", Arity::one, Effect::not_modelled},
});

void add_variables(const LaunchCommand& command, Translation& translation) {
  ReadFlags read = read_variables(command, "SGLANG_", kVariables);
  read.unknown.clear();
  for (const GivenFlag& given : read.given)
    if (given.flag->effect == Effect::modelled)
      translation.options.emplace_back(given.flag->meaning, given.values.front());
  add_warnings(translation, read, "SGLang's environment");
}

}  // namespace

Result<Translation> translate_sglang(const LaunchCommand& command) {
  const std::span<const Flag> table = data::sglang_flags().flags;
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
      if (!given.values.empty())
        translation->options.emplace_back("cuda-graph-max-bs", given.values.back());
    } else {
      translation->options.emplace_back(option,
                                        is_sglang_count(option) ? plain_number(value) : value);
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
