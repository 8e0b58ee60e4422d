// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's training programs. Their arguments describe the model, too: the translation holds
// them as a configuration of model_type "megatron", each argument by the name of its attribute.
#include <algorithm>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/json_object.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/typed_number.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"
#include "workload/layout_recipe.h"

namespace memtape::launch {
namespace {

/// A value as JSON text.
using Json = std::string;

Result<Json> number(const Flag& argument, const std::string& text) {
  const bool whole = argument.value == "int";
  if (const auto integer = whole_number(text); whole && integer) return fmt::format("{}", *integer);
  if (const auto real = real_number(text); !whole && real) return fmt::format("{}", *real);
  return bad_input(fmt::format("unusable value \"{}\"", text), std::string(argument.name),
                   whole ? "a whole number" : "a number");
}

/// A value that the shell will fill in: the number cannot be known.
bool is_variable(std::string_view text) { return text.starts_with('$'); }

Result<Json> one_value(const Flag& argument, const std::string& text) {
  if (argument.value == "int" || argument.value == "float") {
    if (is_variable(text) && argument.effect == Effect::none) return json_quoted(text);
    return number(argument, text);
  }
  if (argument.value.starts_with('=') && !is_variable(text)) {
    const std::vector<std::string_view> known = parts_between(argument.value.substr(1), '|');
    if (std::ranges::find(known, text) == known.end())
      return bad_input(fmt::format("unknown value \"{}\"", text), std::string(argument.name),
                       suggestion(text, known));
  }
  return json_quoted(text);
}

/// The words of a list; "[a b]" as one word is how recipes in YAML write it.
std::vector<std::string> list_words(const std::vector<std::string>& values) {
  std::string text = fmt::format("{}", fmt::join(values, " "));
  for (char& c : text)
    if (c == '[' || c == ']' || c == ',') c = ' ';
  std::vector<std::string> words;
  for (const std::string_view word : parts_between(text, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

Result<Json> argument_value(const Flag& argument, const GivenFlag& given) {
  if (argument.arity == Arity::none) {
    const bool boolean = argument.value == "true" || argument.value == "false";
    return boolean ? Json(argument.value) : json_quoted(argument.value);
  }
  if (argument.arity != Arity::many)
    return given.values.empty() ? Json("null") : one_value(argument, given.values.front());
  std::vector<Json> list;
  for (const std::string& word : list_words(given.values)) {
    Result<Json> value = one_value(argument, word);
    if (!value) return value;
    list.push_back(std::move(*value));
  }
  return fmt::format("[{}]", fmt::join(list, ", "));
}

/// The variables of the environment: Megatron and Transformer Engine read some.
JsonObject environment_of(const LaunchCommand& command) {
  JsonObject environment;
  for (const auto& [name, value] : command.environment)
    if (&value == command.variable(name)) environment.add(name, value);  // the last one counts
  return environment;
}

/// A parallel size, which is a small number; checks come later.
std::int64_t parallel_size(const ReadFlags& flags, std::string_view attribute,
                           std::int64_t otherwise) {
  constexpr std::int64_t kMost = 1 << 14;
  const auto size = whole_number(flags.value(attribute).value_or(""));
  return std::clamp<std::int64_t>(size.value_or(otherwise), 1, kMost);
}

/// A launcher that says nothing of nodes is started once on each, by a cluster that knows how many:
/// no fewer than hold the model once.
void take_enough_nodes(const LaunchCommand& command, const ReadFlags& flags,
                       Translation& translation) {
  const auto& [on_all, on_node, nodes, granted, open] = command.processes;
  if (!on_node || nodes || on_all) return;
  const std::int64_t each = *on_node;
  LayoutRecipe layout;
  layout.tp = parallel_size(flags, "tensor_model_parallel_size", 1);
  layout.pp = parallel_size(flags, "pipeline_model_parallel_size", 1);
  layout.cp = parallel_size(flags, "context_parallel_size", 1);
  layout.ep = parallel_size(flags, "expert_model_parallel_size", 1);
  const std::int64_t gpus =
      layout.fewest_gpus(parallel_size(flags, "expert_tensor_parallel_size", *layout.tp));
  if (each < 1 || gpus > kMostGpus || gpus <= each || gpus % each != 0) return;
  for (auto& [name, value, where] : translation.options)
    if (name == "gpus") value = fmt::format("{}", gpus);
  translation.remarks.warnings.push_back(
      fmt::format("--nnodes is not given: {} nodes are taken, {} GPUs, the fewest that hold the "
                  "model once",
                  gpus / each, gpus));
}

/// How context parallel ranks share attention, where it is one way that is modelled and the same in
/// all layers.
void tell_exchange(const LaunchCommand& command, const ReadFlags& flags, Translation& translation) {
  const GivenFlag* given = flags.last("cp_comm_type");
  if (!given) return;
  const std::vector<std::string> words = list_words(given->values);
  const bool alike = std::ranges::all_of(words, [&](const auto& w) { return w == words.front(); });
  if (alike && (words.front() == "p2p" || words.front() == "a2a")) return;
  translation.remarks.warnings.push_back(fmt::format(
      "{}: what --cp-comm-type {} does is not modelled", command.program, fmt::join(words, " ")));
}

}  // namespace

Result<Translation> translate_megatron(const LaunchCommand& command) {
  const Result<ReadFlags> flags =
      read_flags(command.arguments, data::megatron_arguments(),
                 {.program = command.program, .prefixes = false, .underscores_are_dashes = false});
  if (!flags) return tl::unexpected(flags.error());
  if (const auto fine = no_operands(*flags, command.program); !fine)
    return tl::unexpected(fine.error());
  JsonObject config;
  config.add("model_type", "megatron").add("program", command.program);
  for (const GivenFlag& given : flags->given) {
    const Result<Json> value = argument_value(*given.flag, given);
    if (!value) return tl::unexpected(value.error());
    if (&given == flags->last(given.flag->meaning)) config.add_json(given.flag->meaning, *value);
  }
  config.add("environment", environment_of(command));
  Translation translation = begin_translation(command, Translation::Command::train);
  translation.config = config.text();
  translation.add("framework", "megatron-core");
  take_enough_nodes(command, *flags, translation);
  translation.remarks.add(remarks_of(*flags, command.program));
  tell_exchange(command, *flags, translation);
  return translation;
}

}  // namespace memtape::launch
