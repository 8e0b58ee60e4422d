// SPDX-License-Identifier: Apache-2.0
#include "answer/launch_request.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/command_words.h"
#include "answer/paths_elsewhere.h"
#include "answer/server_flags.h"
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
  LaunchWords found{docker_words(*container), {}};
  if (containers->size() > 1)
    found.remarks.push_back(fmt::format("{}: of {} containers, {} serves", (*request)->where(),
                                        containers->size(), container->name));
  return found;
}

std::vector<std::string> all_lines(Remarks remarks) {
  remarks.add({std::move(remarks.not_modelled), {}, {}});
  return std::move(remarks.warnings);
}

ServeCommand serving(const launch::Translation& said, RawOptions raw,
                     const std::vector<std::string>& command) {
  ServeCommand made{.model = std::move(raw.model),
                    .engine = said.engine,
                    .values = std::move(raw.values),
                    .environment = std::move(raw.environment),
                    .flags = said.typed,
                    .warnings = all_lines(std::move(raw.remarks)),
                    .corrected =
                        [said, command](std::span<const exports::Change> changes) {
                          return exports::corrected_command(said, command, changes);
                        },
                    .html = std::move(raw.html),
                    .output = raw.output};
  take_release_of_flags(made);
  return made;
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
  NamedValues given = std::move(raw.values);
  // --gpu 8xh100 is a machine: the command says how many of its GPUs it uses.
  if (!typed.has("gpus") && !said->takes_all_gpus)
    std::erase_if(given, [](const NamedValue& value) { return value.first == "gpus"; });
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
