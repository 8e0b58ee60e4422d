// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's training programs. Their arguments describe the model, too: the translation holds
// them as a configuration of model_type "megatron", each argument by the name of its attribute.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "launch/megatron_arguments.h"
#include "launch/programs.h"
#include "workload/layout_recipe.h"

namespace memtape::launch {
namespace {

/// A value as JSON text.
using Json = std::string;

const MegatronArgument& argument_of(const Flag& flag) {
  return *std::ranges::find_if(data::megatron_arguments(), [&](const MegatronArgument& argument) {
    return argument.flag.name == flag.name;
  });
}

Result<Json> number(const MegatronArgument& argument, const std::string& text) {
  const bool whole = argument.value == "int";
  const char* end = text.data() + text.size();
  std::int64_t integer = 0;
  double real = 0;
  const auto [at, error] =
      whole ? std::from_chars(text.data(), end, integer) : std::from_chars(text.data(), end, real);
  if (error != std::errc() || at != end || !std::isfinite(real))
    return bad_input(fmt::format("unusable value \"{}\"", text), std::string(argument.flag.name),
                     whole ? "a whole number" : "a number");
  return whole ? fmt::format("{}", integer) : fmt::format("{}", real);
}

std::vector<std::string_view> choices(std::string_view value) {
  std::vector<std::string_view> found;
  for (value.remove_prefix(1); !value.empty();) {
    const std::size_t bar = std::min(value.find('|'), value.size());
    found.push_back(value.substr(0, bar));
    value.remove_prefix(std::min(bar + 1, value.size()));
  }
  return found;
}

/// A value that the shell will fill in: the number cannot be known.
bool is_variable(std::string_view text) { return text.starts_with('$'); }

Result<Json> one_value(const MegatronArgument& argument, const std::string& text) {
  if (argument.value == "int" || argument.value == "float") {
    if (is_variable(text) && argument.flag.effect == Effect::none) return json_quoted(text);
    return number(argument, text);
  }
  if (argument.value.starts_with('=') && !is_variable(text)) {
    const std::vector<std::string_view> known = choices(argument.value);
    if (std::ranges::find(known, text) == known.end())
      return bad_input(fmt::format("unknown value \"{}\"", text), std::string(argument.flag.name),
                       suggestion(text, known));
  }
  return json_quoted(text);
}

/// The words of a list; "[a b]" as one word is how recipes in YAML write it.
std::vector<std::string> list_words(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const std::string& value : values) {
    std::string word;
    for (const char c : value + " ") {
      if (c != ' ' && c != '[' && c != ']' && c != ',') {
        word += c;
      } else if (!word.empty()) {
        words.push_back(std::move(word));
        word.clear();
      }
    }
  }
  return words;
}

Result<Json> value_of(const MegatronArgument& argument, const GivenFlag& given) {
  if (argument.flag.arity == Arity::none) {
    const bool boolean = argument.value == "true" || argument.value == "false";
    return boolean ? Json(argument.value) : json_quoted(argument.value);
  }
  if (argument.flag.arity != Arity::many)
    return given.values.empty() ? Json("null") : one_value(argument, given.values.front());
  std::vector<Json> list;
  for (const std::string& word : list_words(given.values)) {
    Result<Json> value = one_value(argument, word);
    if (!value) return value;
    list.push_back(std::move(*value));
  }
  return fmt::format("[{}]", fmt::join(list, ", "));
}

/// The attributes in the order in which they were first set; the last value counts.
class Attributes {
 public:
  void set(std::string_view name, Json value) {
    const auto found = std::ranges::find(values_, name, &std::pair<std::string, Json>::first);
    if (found != values_.end())
      found->second = std::move(value);
    else
      values_.emplace_back(name, std::move(value));
  }
  Json object() const {
    std::vector<std::string> lines;
    for (const auto& [name, value] : values_)
      lines.push_back(fmt::format("{}: {}", json_quoted(name), value));
    return fmt::format("{{{}}}", fmt::join(lines, ",\n "));
  }

 private:
  std::vector<std::pair<std::string, Json>> values_;
};

/// The variables of the environment: Megatron and Transformer Engine read some.
Json environment_of(const LaunchCommand& command) {
  Attributes environment;
  for (const auto& [name, value] : command.environment) environment.set(name, json_quoted(value));
  return environment.object();
}

/// A parallel size, which is a small number; checks come later.
std::int64_t size_of(const ReadFlags& flags, std::string_view attribute, std::int64_t otherwise) {
  constexpr std::int64_t kMost = 1 << 14;
  const std::optional<std::string> text = flags.value(attribute);
  std::int64_t size = otherwise;
  if (text) std::from_chars(text->data(), text->data() + text->size(), size);
  return std::clamp<std::int64_t>(size, 1, kMost);
}

/// A launcher that says nothing of nodes is started once on each, by a cluster that knows how many:
/// no fewer than hold the model once.
void take_enough_nodes(const LaunchCommand& command, const ReadFlags& flags,
                       Translation& translation) {
  if (!command.processes_per_node || command.nodes || command.processes) return;
  const std::int64_t each = *command.processes_per_node;
  LayoutRecipe layout;
  layout.tp = size_of(flags, "tensor_model_parallel_size", 1);
  layout.pp = size_of(flags, "pipeline_model_parallel_size", 1);
  layout.cp = size_of(flags, "context_parallel_size", 1);
  layout.ep = size_of(flags, "expert_model_parallel_size", 1);
  const std::int64_t gpus =
      layout.fewest_gpus(size_of(flags, "expert_tensor_parallel_size", *layout.tp));
  if (each < 1 || gpus > kMostGpus || gpus <= each || gpus % each != 0) return;
  for (auto& [name, value] : translation.options)
    if (name == "gpus") value = fmt::format("{}", gpus);
  translation.remarks.warnings.push_back(
      fmt::format("--nnodes is not given: {} nodes are taken, {} GPUs, the fewest that hold the "
                  "model once",
                  gpus / each, gpus));
}

}  // namespace

Result<Translation> translate_megatron(const LaunchCommand& command) {
  std::vector<Flag> table;
  for (const MegatronArgument& argument : data::megatron_arguments())
    table.push_back(argument.flag);
  const Result<ReadFlags> flags =
      read_flags(command.arguments, table,
                 {.program = command.program, .prefixes = false, .underscores_are_dashes = false});
  if (!flags) return tl::unexpected(flags.error());
  if (const auto fine = no_operands(*flags, command.program); !fine)
    return tl::unexpected(fine.error());
  Attributes config;
  config.set("model_type", json_quoted("megatron"));
  config.set("program", json_quoted(command.program));
  for (const GivenFlag& given : flags->given) {
    Result<Json> value = value_of(argument_of(*given.flag), given);
    if (!value) return tl::unexpected(value.error());
    config.set(given.flag->meaning, std::move(*value));
  }
  config.set("environment", environment_of(command));
  Translation translation = begin_translation(command, Translation::Command::train);
  translation.config = config.object();
  translation.add("framework", "megatron-core");
  take_enough_nodes(command, *flags, translation);
  translation.remarks.add({{}, not_modelled(*flags, command.program)});
  return translation;
}

}  // namespace memtape::launch
