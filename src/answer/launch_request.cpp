// SPDX-License-Identifier: Apache-2.0
#include "answer/launch_request.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/command_words.h"
#include "base/comma_list.h"
#include "exports/correction.h"
#include "launch/container.h"
#include "launch/translation.h"
#include "model/model_name.h"

namespace memtape::answer {
namespace {

/// The command to read, and which container of several starts it.
struct LaunchWords {
  std::vector<std::string> words, remarks;
};

Result<LaunchWords> words_to_run(const std::vector<std::string>& typed, const Outside& outside) {
  Result<std::optional<launch::ContainerRequest>> request = launch::container_request(typed);
  if (!request) return tl::unexpected(request.error());
  if (!*request) return LaunchWords{typed, {}};
  const auto containers = outside.containers(**request);
  if (!containers) return tl::unexpected(containers.error());
  const Result<Container> container = launch::chosen_container(*containers, **request, outside);
  if (!container) return tl::unexpected(container.error());
  LaunchWords found{launch::docker_words(*container), {}};
  if (containers->size() > 1)
    found.remarks.push_back(fmt::format("{}: of {} containers, {} serves", (*request)->where(),
                                        containers->size(), container->name));
  return found;
}

std::vector<std::string> all_lines(Remarks remarks) {
  remarks.add({std::move(remarks.not_modelled), {}});
  return std::move(remarks.warnings);
}

ServeCommand serving(const launch::Translation& said, RawOptions raw,
                     const std::vector<std::string>& command) {
  return {.model = std::move(raw.model),
          .engine = said.engine,
          .values = std::move(raw.values),
          .environment = std::move(raw.environment),
          .warnings = all_lines(std::move(raw.remarks)),
          .corrected =
              [said, command](std::span<const exports::Change> changes) {
                return exports::corrected_command(said, command, changes);
              },
          .html = std::move(raw.html),
          .output = raw.output};
}

bool has(const NamedValues& values, std::string_view name) {
  return std::ranges::any_of(values, [&](const auto& value) { return value.first == name; });
}

/// A word that may say adapters, bits or frozen parts is refused unless an option says them.
Result<void> check_unread(std::span<const launch::UnreadWord> unread, const NamedValues& given) {
  for (const launch::UnreadWord& word : unread) {
    const std::vector<std::string_view> options = parts_between(word.instead, ' ');
    if (std::ranges::any_of(options, [&](std::string_view name) { return has(given, name); }))
      continue;
    return unsupported("what it does is the script's own affair", word.where,
                       fmt::format("say it before the --: --{}", fmt::join(options, " or --")));
  }
  return {};
}

/// A model by a path that is not on this machine is the catalog's of that name, or of the name by
/// which it is served.
void take_model_by_name(const launch::Translation& said, const Outside& outside, RawOptions& raw) {
  if (!is_path(raw.model) || outside.is_there(raw.model)) return;
  PathModel named = model_of_path(raw.model);
  const bool is_gguf = !named.file_type.empty();
  if (named.id.empty()) named.id = model_of_path(said.served_name).id;
  if (named.id.empty() || (is_gguf && said.engine != "llamacpp")) return;
  std::string line = fmt::format("{} is not on this machine: the answer is for {}{}", raw.model,
                                 named.id, find_model(named.id) ? " of the catalog" : "");
  if (is_gguf) {
    raw.values.emplace_back("quantize", named.file_type);
    line += fmt::format(", as llama-quantize makes {} of it", named.file_type);
  }
  raw.remarks.warnings.push_back(std::move(line));
  raw.model = named.id;
}

/// The same of a draft model's file.
void take_draft_by_name(const Outside& outside, RawOptions& raw) {
  const auto draft = std::ranges::find(raw.values, "spec-draft-model",
                                       [](const auto& value) { return value.first; });
  if (draft == raw.values.end() || !is_path(draft->second) || outside.is_there(draft->second))
    return;
  const PathModel named = model_of_path(draft->second);
  if (named.id.empty() || named.file_type.empty()) return;
  raw.remarks.warnings.push_back(fmt::format(
      "{} is not on this machine: the draft is taken to be {}, as llama-quantize makes {} of it",
      draft->second, named.id, named.file_type));
  draft->second = named.id;
  raw.values.emplace_back("spec-draft-quantize", named.file_type);
}

Result<void> check_asked_of_training(const NamedValues& given) {
  for (const auto& [name, value] : given)
    if (name != "solve" && name != "compare" && is_server_question(name))
      return bad_input("is asked of servers, this is a training", fmt::format("--{}", name));
  return {};
}

}  // namespace

Result<Launched> launched(const option::Words& typed, const Outside& outside) {
  const Result<LaunchWords> words = words_to_run(typed.tail, outside);
  if (!words) return tl::unexpected(words.error());
  const Result<launch::Translation> said = launch::translate(words->words, outside);
  if (!said) return tl::unexpected(said.error());
  RawOptions raw = asked_of(typed);
  const NamedValues given = std::move(raw.values);
  if (const auto fine = check_unread(said->unread, given); !fine)
    return tl::unexpected(fine.error());
  raw.model = said->model;
  raw.config = said->config;
  raw.environment = said->environment;
  raw.tail = typed.tail;
  raw.tail.insert(raw.tail.begin(), "--");
  raw.remarks.warnings = words->remarks;
  raw.remarks.add(said->remarks);
  take_model_by_name(*said, outside, raw);
  for (const launch::SaidOption& option : said->options) {
    raw.values.emplace_back(option.name, option.value);
    raw.places.emplace_back(option.name, option.where);
  }
  take_draft_by_name(outside, raw);
  if (said->takes_all_gpus && !has(given, "gpus"))
    raw.remarks.warnings.emplace_back(
        "a process is started for each GPU that is found, and nothing says how many there are: "
        "answered for one (--gpus N before the --)");
  raw.values.insert(raw.values.end(), given.begin(), given.end());
  for (const auto& [name, value] : given) raw.places.emplace_back(name, "");
  if (said->command != launch::Translation::Command::train)
    return Launched(serving(*said, std::move(raw), typed.tail));
  if (const auto fine = check_asked_of_training(given); !fine) return tl::unexpected(fine.error());
  return Launched(std::move(raw));
}

}  // namespace memtape::answer
