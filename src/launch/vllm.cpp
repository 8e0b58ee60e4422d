// SPDX-License-Identifier: Apache-2.0
// `vllm serve MODEL` and `python -m vllm.entrypoints.openai.api_server --model MODEL`: the same
// words as `memtape serve MODEL --engine vllm`, with the API server's defaults.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "framework/vllm/serve.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {
namespace {

/// A number, true, false, a list or an object as it is; else a text.
std::string as_json(const std::string& value) {
  if (value == "true" || value == "True") return "true";
  if (value == "false" || value == "False") return "false";
  if (!value.empty() && (value.front() == '[' || value.front() == '{')) return value;
  double number = 0;
  const auto [at, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc() && at == value.data() + value.size();
  return is_number ? value : fmt::format("\"{}\"", value);
}

/// A field joins the object that `--group` has so far among the opened words, or begins one.
void add_field(std::vector<std::string>& opened, const std::string& group,
               const std::string& field) {
  const auto at = std::ranges::find(opened, group);
  if (at == opened.end() || at + 1 == opened.end() || !(at + 1)->ends_with('}')) {
    opened.push_back(group);
    opened.push_back(fmt::format("{{{}}}", field));
    return;
  }
  std::string& object = *(at + 1);
  object.pop_back();
  object += (object == "{" ? "" : ", ") + field + "}";
}

/// --spec-method and its like are fields of --speculative-config
/// (EngineArgs.create_speculative_config).
std::vector<std::string> with_short_fields_named(std::vector<std::string> words) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFields{
      {{"--spec-method", "--speculative-config.method"},
       {"--spec-model", "--speculative-config.model"},
       {"--spec-tokens", "--speculative-config.num_speculative_tokens"}}};
  for (std::string& word : words)
    for (const auto& [flag, field] : kFields)
      if (word == flag || (word.starts_with(flag) && word[flag.size()] == '='))
        word.replace(0, flag.size(), field);
  return words;
}

/// --group.field VALUE of a JSON argument: "--compilation-config.mode" (FlexibleArgumentParser).
/// Read as `--group {"field": VALUE}` with the fields of one group together.
std::vector<std::string> with_dots_opened(const std::vector<std::string>& words) {
  std::vector<std::string> opened;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t dot = word.find('.'), equals = word.find('=');
    const bool attached = equals != std::string::npos;
    if (!word.starts_with("-") || dot == std::string::npos || (attached && dot > equals) ||
        (!attached && i + 1 == words.size())) {
      opened.push_back(word);
      continue;
    }
    const std::string field = word.substr(dot + 1, attached ? equals - dot - 1 : word.npos);
    const std::string value = attached ? word.substr(equals + 1) : words[++i];
    add_field(opened, word.substr(0, dot), fmt::format("\"{}\": {}", field, as_json(value)));
  }
  return opened;
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
