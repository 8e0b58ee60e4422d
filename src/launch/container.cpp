// SPDX-License-Identifier: Apache-2.0
#include "launch/container.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  return command && (is_known(*command) || looks_like_trainer_script(*command));
}

}  // namespace

std::string ContainerRequest::where() const { return fmt::format("{}", fmt::join(files, ", ")); }

Result<std::optional<ContainerRequest>> container_request(ContainerWords words) {
  std::vector<std::pair<std::string, std::string>> environment;
  for (; !words.empty(); words = words.subspan(1)) {
    auto variable = shell_assignment(words.front());
    if (!variable && words.front() != "sudo" && words.front() != "env") break;
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
  if (!request.names.empty())
    return container_named(containers, request.names.front(), request.where());
  std::vector<const Container*> known, all;
  for (const Container& container : containers) {
    all.push_back(&container);
    if (starts_known_program(container, files)) known.push_back(&container);
  }
  // The replicas of one job bear one name; the first says what all of them run.
  const std::vector<const Container*>& meant = known.empty() ? all : known;
  if (std::ranges::count(meant, meant.front()->name, &Container::name) == std::ssize(meant))
    return *meant.front();
  if (!known.empty())
    return bad_input(fmt::format("describes several servers: {}", names_of(known)), request.where(),
                     "name one of them after it");
  return unsupported(fmt::format("none of {} starts a program that is known", names_of(all)),
                     request.where());
}

}  // namespace memtape::launch
