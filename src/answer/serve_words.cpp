// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "answer/command_words.h"
#include "answer/comparison_table.h"
#include "launch/words.h"
#include "predict/serve.h"

namespace memtape::answer {
namespace {

using option::Option;
using option::Syntax;

/// Every engine takes these.
constexpr auto kServeOptions = std::to_array<Option>({
    {"--engine", "{llamacpp,vllm,sglang,transformers}", "the inference engine", {}, {}, "llamacpp"},
    {"--engine-version", "X.Y.Z", "its version", {}, {}, "the newest known"},
    {"--with", "PACKAGE==VERSION,...", "the releases meant, like vllm==0.32.0"},
    {"--gpu", "NAME", "the GPU to judge against (memtape gpus lists them)"},
    {"--gpus", "N", "how many of them", {}, {}, "1"},
    {"--gpu-memory-bytes", "N", "total memory of the GPU, instead of the catalog's figure"},
    {"--context-bytes", "N", "memory of the CUDA context, instead of the catalog's figure"},
    {"--compare", "[GPU,...]", "a line for each GPU (all with CUDA) and each of --quantize a,b,c"},
    {"--solve", "FLAG", "the largest value of that flag that fits"},
    {"--users", "N", "people at a time, each with --context and --output"},
    {"--context", "L", "tokens of a user's prompt: how many users are there room for?"},
    {"--output", "M", "tokens of a user's answer", {}, {}, "0"},
    {"--driver-placement", "{linux,first-fit}", "where the driver puts segments", {}, {}, "linux"},
    {"--as-family", "NAME", "an unknown MODEL as a family of its sizes: an estimate"},
});
constexpr auto kServeAnswer = std::to_array<Option>({
    {"--strict", "", "exit code 1 where it may not fit, too", kAnswerGroup},
    {"--html", "FILE", "write a page with a bar for each GPU", kAnswerGroup},
});

tl::unexpected<Error> serve_mistake(std::string what, std::string hint) {
  return memtape::bad_input(std::move(what), "serve", std::move(hint));
}

/// The flags of that engine, or of all, for the help.
std::vector<option::Section> engine_sections(const ServeEngine* only) {
  std::vector<option::Section> sections;
  for (const ServeEngine& engine : serve_engines())
    if (!only || engine.name == only->name)
      sections.push_back({fmt::format("--engine {}: {}", engine.name, engine.summary),
                          option::table_of(engine.flags)});
  return sections;
}

/// The engine that is named, which decides what flags there are and so is looked for first.
Result<std::optional<std::string>> named_engine(const Told& told) {
  constexpr std::string_view kFlag = "--engine";
  std::vector<std::string> named;
  for (const option::GivenValue& given : told.values)
    if (given.name == "engine" && !given.texts.empty()) named.push_back(given.texts.front());
  const option::Arguments words = told.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == kFlag && i + 1 < words.size()) named.emplace_back(words[i + 1]);
    if (word.starts_with("--engine=")) named.emplace_back(word.substr(kFlag.size() + 1));
  }
  for (const std::string& engine : named)
    if (engine != named.front())
      return serve_mistake(fmt::format("--engine names both {} and {}", named.front(), engine),
                           "one of them; memtape plan serve --engine any compares");
  return named.empty() ? std::nullopt : std::optional(named.front());
}

Error unknown_flag(const ServeEngine& engine, const option::Table& table, std::string_view typed) {
  Error error{ErrorKind::bad_input,
              fmt::format("unknown option {} of --engine {}", typed, engine.name), "serve", ""};
  // What is meant goes before what is spelled alike.
  for (const std::string_view whose : {engine.name, std::string_view("any")})
    if (error.hint.empty())
      error.hint = launch::meaning_of(fmt::format("{}/{}", whose, typed), data::meant_flags());
  for (const ServeEngine& other : serve_engines())
    if (error.hint.empty() && find_flag(other.flags, typed))
      error.hint = fmt::format("it is one of --engine {}", other.name);
  if (error.hint.empty()) error.hint = option::near_option(table, typed);
  if (error.hint.empty()) error.hint = "see memtape serve --help";
  return error;
}

/// Nothing is asked twice, and nothing beside --compare that it would drop.
Result<void> questions_agree(const NamedValues& values) {
  if (std::ranges::count(values, "compare", &NamedValue::first) > 1)
    return serve_mistake("--compare is given twice", "one of them");
  return compares_alone("serve", values);
}

}  // namespace

Result<Syntax> serve_syntax(const Told& told) {
  const Result<std::optional<std::string>> asked = named_engine(told);
  if (!asked) return tl::unexpected(asked.error());
  const std::optional<std::string>& named = *asked;
  const Result<const ServeEngine*> found =
      named ? find_serve_engine(*named) : &serve_engines().front();
  if (!found) return tl::unexpected(found.error());
  const ServeEngine* engine = *found;
  Syntax syntax{.command = "serve",
                .operands = {{kModel.name,
                              "catalog name, hub id, directory, config.json, .safetensors or "
                              ".gguf file"}},
                .sections = engine_sections(named ? engine : nullptr),
                .takes_empty = false,
                .truths_follow = engine->truths_follow};
  std::ranges::copy(output_options(), std::back_inserter(syntax.table));
  option::add<Option>(kServeAnswer, syntax.table);
  option::add<Option>(kServeOptions, syntax.table);
  option::add(engine->flags, syntax.table);
  syntax.unknown = [engine, table = syntax.table](std::string_view typed) {
    return unknown_flag(*engine, table, typed);
  };
  return syntax;
}

Result<ServeCommand> server_of(const option::Words& words, std::size_t model,
                               std::span<const option::Option> besides) {
  RawOptions asked = asked_of(words, model, besides);
  if (const Result<void> agree = questions_agree(asked.typed); !agree)
    return tl::unexpected(agree.error());
  return ServeCommand{.model = std::move(asked.model),
                      .engine = words.text("engine", serve_engines().front().name),
                      .values = std::move(asked.typed),
                      .html = std::move(asked.html),
                      .output = asked.output};
}

}  // namespace memtape::answer
