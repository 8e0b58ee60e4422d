// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "answer/command_words.h"
#include "option/help.h"

namespace memtape::answer {
namespace {

using option::Syntax;

tl::unexpected<Error> serve_mistake(std::string what, std::string hint) {
  return memtape::bad_input(std::move(what), "serve", std::move(hint));
}

/// With `--engine NAME` that engine's flags alone.
std::string serve_help(const ServeEngine* only) {
  Syntax syntax{.command = "serve",
                .operands = {{"MODEL",
                              "catalog name, hub id, directory, config.json, .safetensors or "
                              ".gguf file"}},
                .summary = "an inference server, per GPU",
                .example =
                    "memtape serve meta-llama/Llama-3.1-8B --engine llamacpp --quantize "
                    "Q4_K_M --gpu rtx-4090"};
  option::add(serve_options(), syntax.table);
  option::add(serve_answer_options(), syntax.table);
  std::vector<option::Section> engines;
  for (const ServeEngine& engine : serve_engines()) {
    if (only && engine.name != only->name) continue;
    engines.push_back({fmt::format("--engine {}: {}", engine.name, engine.summary), {}});
    option::add(engine.flags, engines.back().table);
  }
  const std::string example =
      only ? fmt::format("memtape serve meta-llama/Llama-3.1-8B --engine {} --gpu l4", only->name)
           : "";
  if (only) syntax.example = example;
  return option::help_text(syntax, engines);
}

/// The engine decides which flags there are, so it is looked for first.
Result<const ServeEngine*> engine_of(const Told& told, bool& is_named) {
  constexpr std::string_view kFlag = "--engine";
  std::string_view named = serve_engines().front().name;
  for (const option::GivenValue& given : told.values)
    if (given.name == "engine" && !given.texts.empty()) named = given.texts.front();
  const Arguments arguments = told.words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const bool has_value = word.starts_with(kFlag) && word.substr(kFlag.size()).starts_with('=');
    if (word != kFlag && !has_value) continue;
    is_named = true;
    if (has_value)
      named = word.substr(kFlag.size() + 1);
    else if (i + 1 < arguments.size())
      named = arguments[i + 1];
  }
  return find_serve_engine(named);
}

/// What people mean by words that are not there, before what is spelled alike.
constexpr auto kMeantOfAny = std::to_array<MeantFlag>({
    {"--seq", "--context L for a user's prompt, or the engine's own length of context"},
    {"--seq-len", "--context L for a user's prompt, or the engine's own length of context"},
    {"--sequence-length", "--context L for a user's prompt: that one is of memtape train"},
    {"--concurrency", "--users N"},
    {"--fits", "memtape fits --gpu NAME says which models fit"},
});

Error unknown_flag(const ServeEngine& engine, const option::Table& table, std::string_view typed) {
  Error error{ErrorKind::bad_input,
              fmt::format("unknown option {} of --engine {}", typed, engine.name), "serve", ""};
  const std::span<const MeantFlag> of_any = kMeantOfAny;
  for (const auto& meant : {of_any, engine.meant})
    if (const auto found = std::ranges::find(meant, typed, &MeantFlag::typed); found != meant.end())
      error.hint = found->hint;
  for (const ServeEngine& other : serve_engines())
    if (error.hint.empty() && find_flag(other.flags, typed))
      error.hint = fmt::format("it is one of --engine {}", other.name);
  if (error.hint.empty()) error.hint = option::near_option(table, typed);
  if (error.hint.empty()) error.hint = "see memtape serve --help";
  return error;
}

Syntax syntax_with(const ServeEngine& engine) {
  Syntax syntax{.command = "serve",
                .operands = {kModel},
                .last_counts = true,
                .truths_follow = engine.truths_follow};
  option::add(serve_answer_options(), syntax.table);
  option::add(serve_options(), syntax.table);
  option::add(engine.flags, syntax.table);
  syntax.unknown = [&engine, table = syntax.table](std::string_view typed) {
    return unknown_flag(engine, table, typed);
  };
  return syntax;
}

/// Nothing is asked twice, and nothing beside --compare that it would drop.
Result<void> questions_agree(const NamedValues& values) {
  const auto count = [&](std::string_view name) {
    return std::ranges::count(values, name, &NamedValue::first);
  };
  for (const std::string_view once : {"gpu", "gpus", "solve", "compare", "users", "context"})
    if (count(once) > 1)
      return serve_mistake(fmt::format("--{} is given twice", once), "one of them");
  if (count("compare") == 0) return {};
  if (count("gpu") > 0)
    return serve_mistake("--gpu beside --compare: which GPUs?", "--compare GPU,GPU");
  if (count("gpu-memory-bytes") > 0)
    return serve_mistake("--gpu-memory-bytes beside --compare: of which GPU?",
                         "--gpu with --gpu-memory-bytes for one");
  return {};
}

}  // namespace

Result<Syntax> serve_syntax_of(const Told& told) {
  bool names_engine = false;
  const Result<const ServeEngine*> engine = engine_of(told, names_engine);
  if (!engine) return tl::unexpected(engine.error());
  return syntax_with(**engine);
}

Syntax serve_syntax(Arguments arguments) {
  const Result<Syntax> syntax = serve_syntax_of({.words = arguments});
  return syntax ? *syntax : syntax_with(serve_engines().front());
}

Result<ServeWords> read_serve_words(const Told& told) {
  bool names_engine = false;
  const Result<const ServeEngine*> engine = engine_of(told, names_engine);
  if (!engine) return tl::unexpected(engine.error());
  const Result<option::Words> words = told.by(syntax_with(**engine));
  if (!words) return tl::unexpected(words.error());
  if (words->asks_help) return ServeWords{{}, serve_help(names_engine ? *engine : nullptr)};
  ServeCommand command{.model = words->operand(),
                       .engine = std::string((*engine)->name),
                       .html = words->text("html"),
                       .strict = words->has("strict"),
                       .output = output_of(*words)};
  for (const auto& [option, value] : words->typed)
    if (option->group != kAnswerGroup)
      command.values.emplace_back(option->name(), option->is_switch() ? "" : value);
  if (const Result<void> agree = questions_agree(command.values); !agree)
    return tl::unexpected(agree.error());
  return ServeWords{std::move(command), ""};
}

}  // namespace memtape::answer
