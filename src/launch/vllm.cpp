// SPDX-License-Identifier: Apache-2.0
// `vllm serve MODEL` and `python -m vllm.entrypoints.openai.api_server --model MODEL`: the same
// words as `memtape serve MODEL --engine vllm`, with the API server's defaults.
#include <algorithm>

#include <fmt/format.h>

#include "formats/json_words.h"
#include "framework/vllm/serve.h"
#include "launch/programs.h"
#include "launch/serving.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// Flags that are fields of --speculative-config (EngineArgs.create_speculative_config).
std::vector<std::string> with_short_fields_named(std::vector<std::string> words) {
  for (std::string& word : words) {
    const std::size_t end = std::min(word.find('='), word.size());
    std::string flag = word.substr(0, end);
    std::ranges::replace(flag, '_', '-');
    if (const auto field = meaning_of(flag, data::vllm_speculative_flags()); !field.empty())
      word.replace(0, end, fmt::format("--speculative-config.{}", field));
  }
  return words;
}

std::vector<std::string> vllm_words(std::vector<std::string> typed) {
  return with_dots_opened(with_short_fields_named(std::move(typed)));
}

std::optional<std::int64_t> vllm_ranks(const ReadFlags& flags) {
  return product_of(flags,
                    {"tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"});
}

/// -O of versions before 0.12.
bool take_vllm(const GivenFlag& given, Translation& translation) {
  if (given.flag->meaning != "optimization-level" || given.values.empty() ||
      !given.values.front().starts_with('{'))
    return false;
  translation.add("compilation-config", given.values.front());
  return true;
}

ReadFlags vllm_variables(const LaunchCommand& command) {
  return read_variables(command, "VLLM_", data::vllm_environment_flags().flags);
}

}  // namespace

const ServerProgram kVllm{.name = "vllm serve",
                          .engine = "vllm",
                          .names_model = "MODEL",
                          .flags = served_flags<vllm::kEngine, data::vllm_flags>,
                          .words = vllm_words,
                          .ranks = vllm_ranks,
                          .take = take_vllm,
                          .variables = vllm_variables,
                          .environment = "vLLM's environment"};

}  // namespace memtape::launch
