// SPDX-License-Identifier: Apache-2.0
// `vllm serve MODEL` and `python -m vllm.entrypoints.openai.api_server --model MODEL`: the same
// words as `memtape serve MODEL --engine vllm`, with the API server's defaults.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/vllm/serve.h"
#include "launch/config_words.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {
namespace {

constexpr const char* kVllmProgram = "vllm serve";

std::span<const Flag> vllm_flags() {
  static const std::vector<Flag> flags = as_served_by(vllm::kEngine, data::vllm_flags().flags);
  return flags;
}

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

bool is_vllm_count(std::string_view option) {
  constexpr std::array<std::string_view, 4> kCounts{
      "max-model-len", "max-num-seqs", "max-num-batched-tokens", "kv-cache-memory-bytes"};
  return std::ranges::find(kCounts, option) != kCounts.end();
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

void add_option(Translation& translation, const GivenFlag& given) {
  if (given.flag->effect != Effect::modelled) return;
  const std::string option(given.flag->meaning);
  const bool is_list = given.flag->arity == Arity::many;
  const std::string value = is_list                ? fmt::format("{}", fmt::join(given.values, ","))
                            : given.values.empty() ? std::string()
                                                   : given.values.front();
  if (option == "model")
    translation.model = value;
  else if (option == "optimization-level" && value.starts_with('{'))
    translation.add("compilation-config", value);  // -O of versions before 0.12
  else
    translation.add(option, is_vllm_count(option) ? plain_number(value) : value);
}

}  // namespace

Result<Translation> translate_vllm(const LaunchCommand& command) {
  const Result<std::vector<std::string>> own = with_config_file(command, vllm_flags());
  if (!own) return tl::unexpected(own.error());
  const std::vector<std::string> words = with_dots_opened(with_short_fields_named(*own));
  const Result<ReadFlags> flags =
      read_flags(words, vllm_flags(), {.program = kVllmProgram, .unknown_pass = true});
  if (!flags) return tl::unexpected(flags.error());
  const auto ranks =
      product_of(*flags, {"tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"});
  Result<Translation> translation = begin_serving(command, "vllm", ranks);
  if (!translation) return translation;
  translation->add("usage-context", "api-server");
  const ReadFlags variables =
      read_variables(command, "VLLM_", data::vllm_environment_flags().flags);
  for (const ReadFlags* read : {&variables, &*flags})
    for (const GivenFlag& given : read->given) add_option(*translation, given);
  if (!flags->operands.empty()) translation->model = flags->operands.front();
  if (flags->operands.size() > 1)
    return bad_input(fmt::format("one word too many: {}", flags->operands[1]), kVllmProgram);
  if (translation->model.empty())
    return bad_input("no model is named", kVllmProgram, "vllm serve MODEL");
  add_warnings(*translation, *flags, kVllmProgram);
  add_warnings(*translation, variables, "vLLM's environment");
  translation->flags = vllm_flags();
  return translation;
}

}  // namespace memtape::launch
