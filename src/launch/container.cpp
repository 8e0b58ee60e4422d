// SPDX-License-Identifier: Apache-2.0
#include "launch/container.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "formats/shell.h"
#include "launch/flag_tables.h"
#include "launch/programs.h"

namespace memtape::launch {
namespace {

using ContainerWords = std::span<const std::string>;

bool is_yaml(std::string_view word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

/// The verbs that start what a file describes.
constexpr std::array<std::string_view, 9> kVerbs{"up",      "run",   "create",  "start",  "config",
                                                 "restart", "apply", "replace", "convert"};

Result<std::optional<ContainerRequest>> request_of(ContainerWords words, const FlagTable& table,
                                                   const char* program) {
  const Result<ReadFlags> flags = read_flags(words, table.flags, {.program = program});
  if (!flags) return tl::unexpected(flags.error());
  ContainerRequest request;
  for (const GivenFlag& given : flags->given)
    if (given.flag->meaning == "file") request.files.push_back(given.values.back());
  request.merges = table.flags.data() == data::compose_flags().flags.data();
  request.names = flags->operands;
  if (!request.names.empty() &&
      std::ranges::find(kVerbs, std::string_view(request.names.front())) != kVerbs.end())
    request.names.erase(request.names.begin());
  return std::optional(std::move(request));
}

std::string names_of(const std::vector<const Container*>& containers) {
  std::vector<std::string> names;
  for (const Container* container : containers) names.push_back(container->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool starts_known_program(const Container& container, const Files& files) {
  const Result<LaunchCommand> command = unwrap(docker_words(container), files);
  return command && is_known(*command);
}

Result<Container> named(const std::vector<Container>& containers, const std::string& name,
                        const std::string& file) {
  std::vector<std::string_view> names;
  for (const Container& container : containers) {
    if (container.name == name) return container;
    names.push_back(container.name);
  }
  return bad_input(fmt::format("describes no {}", name), file, suggestion(name, names));
}

}  // namespace

std::string ContainerRequest::where() const { return fmt::format("{}", fmt::join(files, ", ")); }

std::vector<std::string> docker_words(const Container& container) {
  std::vector<std::string> words{"docker", "run"};
  for (const auto& [name, value] : container.environment) {
    words.emplace_back("-e");
    words.push_back(fmt::format("{}={}", name, value));
  }
  for (const std::string& volume : container.volumes) words.insert(words.end(), {"-v", volume});
  if (container.gpus) {
    words.emplace_back("--gpus");
    words.push_back(fmt::format("{}", *container.gpus));
  }
  if (!container.entry_point.empty()) {
    words.emplace_back("--entrypoint");
    words.push_back(container.entry_point.front());
  }
  words.push_back(container.image.empty() ? "image" : container.image);
  if (!container.entry_point.empty())
    words.insert(words.end(), container.entry_point.begin() + 1, container.entry_point.end());
  words.insert(words.end(), container.command.begin(), container.command.end());
  return words;
}

Result<std::optional<ContainerRequest>> container_request(ContainerWords words) {
  std::vector<std::pair<std::string, std::string>> environment;
  for (; !words.empty(); words = words.subspan(1)) {
    auto variable = shell_assignment(words.front());
    if (!variable && words.front() != "sudo") break;
    if (variable) environment.push_back(*std::move(variable));
  }
  if (words.empty()) return std::nullopt;
  const std::string& first = words.front();
  Result<std::optional<ContainerRequest>> request = std::optional<ContainerRequest>();
  if ((first == "docker" || first == "podman" || first == "nerdctl") && words.size() > 1 &&
      words[1] == "compose")
    request = request_of(words.subspan(2), data::compose_flags(), "docker compose");
  else if (first == "docker-compose" || first == "podman-compose")
    request = request_of(words.subspan(1), data::compose_flags(), "docker compose");
  else if (first == "kubectl")
    request = request_of(words.subspan(1), data::kubectl_flags(), "kubectl");
  else if (is_yaml(first))
    request = ContainerRequest{
        .files = {first}, .names = {words.begin() + 1, words.end()}, .environment = {}};
  if (!request || !*request) return request;
  if (first == "kubectl" && (*request)->files.empty())
    return bad_input("names no file", "kubectl", "kubectl apply -f FILE");
  (*request)->environment = std::move(environment);
  return request;
}

Result<Container> chosen_container(const std::vector<Container>& containers,
                                   const ContainerRequest& request, const Files& files) {
  if (containers.empty())
    return bad_input("describes no container", request.where(),
                     "a compose file with services, or a Kubernetes pod with containers");
  if (request.names.size() > 1)
    return bad_input(fmt::format("one at a time: {}", fmt::join(request.names, ", ")),
                     request.where());
  if (!request.names.empty()) return named(containers, request.names.front(), request.where());
  std::vector<const Container*> known, all;
  for (const Container& container : containers) {
    all.push_back(&container);
    if (starts_known_program(container, files)) known.push_back(&container);
  }
  if (known.size() == 1) return *known.front();
  if (known.size() > 1)
    return bad_input(fmt::format("describes several servers: {}", names_of(known)), request.where(),
                     "name one of them after it");
  // The replicas of one job bear one name; the first says what all of them run.
  const std::string& first = containers.front().name;
  if (std::ranges::count(containers, first, &Container::name) == std::ssize(containers))
    return containers.front();
  return unsupported(fmt::format("none of {} starts a program that is known", names_of(all)),
                     request.where());
}

}  // namespace memtape::launch
