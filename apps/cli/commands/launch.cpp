// SPDX-License-Identifier: Apache-2.0
// `memtape [options] -- COMMAND...`: the launch command in memtape's words, then that command. What
// stands before the -- comes last and so overrides what the launch command says. A command that
// starts containers of a file is the `docker run` of the one that serves.
#include <algorithm>

#include <fmt/format.h>

#include "commands.h"
#include "launch/container.h"
#include "launch/correction.h"
#include "launch/translation.h"
#include "sources/container_file.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kLargestConfiguration = std::size_t{1} << 20;

class FilesOnDisk final : public launch::Files {
 public:
  Result<std::string> read(const std::string& path) const override {
    return sources::read_text_file(path, kLargestConfiguration);
  }
};

/// The command to read, and which container of several starts it.
struct Words {
  std::vector<std::string> words, remarks;
};

Result<Words> words_to_run(const std::vector<std::string>& typed) {
  Result<std::optional<launch::ContainerRequest>> request = launch::container_request(typed);
  if (!request) return tl::unexpected(request.error());
  if (!*request) return Words{typed, {}};
  const auto containers = sources::read_containers(**request);
  if (!containers) return tl::unexpected(containers.error());
  const Result<launch::Container> container =
      launch::chosen_container(*containers, **request, FilesOnDisk());
  if (!container) return tl::unexpected(container.error());
  Words found{launch::docker_words(*container), {}};
  if (containers->size() > 1)
    found.remarks.push_back(fmt::format("{}: of {} containers, {} serves", (*request)->where(),
                                        containers->size(), container->name));
  return found;
}

std::vector<std::string> all_lines(launch::Remarks remarks) {
  remarks.add({std::move(remarks.not_modelled), {}});
  return std::move(remarks.warnings);
}

int serve(const launch::Translation& said, RawOptions raw, const LaunchOptions& options,
          Terminal& terminal) {
  return run_serve({.model = std::move(raw.model),
                    .engine = said.engine,
                    .values = std::move(raw.values),
                    .environment = std::move(raw.environment),
                    .warnings = all_lines(std::move(raw.remarks)),
                    .corrected =
                        [&](std::span<const launch::Change> changes) {
                          return launch::corrected_command(said, options.command, changes);
                        },
                    .html = std::move(raw.html),
                    .output = raw.output},
                   terminal);
}

}  // namespace

int run_launch(const LaunchOptions& options, Terminal& terminal) {
  const Result<Words> words = words_to_run(options.command);
  if (!words) return terminal.fail(words.error());
  const Result<launch::Translation> said = launch::translate(words->words, FilesOnDisk());
  if (!said) return terminal.fail(said.error());
  RawOptions raw = options.given;
  raw.model = said->model;
  raw.config = said->config;
  raw.environment = said->environment;
  raw.tail = options.command;
  raw.tail.insert(raw.tail.begin(), "--");
  raw.remarks.warnings = words->remarks;
  raw.remarks.add(said->remarks);
  raw.values = said->options;
  raw.values.insert(raw.values.end(), options.given.values.begin(), options.given.values.end());
  if (said->command == launch::Translation::Command::train) {
    for (const auto& [name, value] : options.given.values)
      if (name != "solve" && name != "compare" &&
          std::ranges::find(kServerQuestions, std::string_view(name)) != kServerQuestions.end())
        return terminal.fail({ErrorKind::bad_input,
                              "is asked of servers, this is a training",
                              fmt::format("--{}", name),
                              {}});
    return run_train(raw, terminal);
  }
  return serve(*said, std::move(raw), options, terminal);
}

}  // namespace memtape::cli
