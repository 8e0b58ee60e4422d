// SPDX-License-Identifier: Apache-2.0
#include "sources/container_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "formats/shell.h"
#include "formats/yaml.h"
#include "sources/files.h"

namespace memtape::sources {
namespace {

using Kind = YamlNode::Kind;
using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kLargestFile = std::size_t{1} << 20;

/// The value of a key; the null node where there is none.
const YamlNode& get(const YamlNode& node, std::string_view key) {
  static const YamlNode nothing;
  const YamlNode* found = node.kind == Kind::mapping ? node.find(key) : nullptr;
  return found ? *found : nothing;
}

/// Of a sequence; nothing of any other node.
std::span<const YamlNode> items(const YamlNode& node) {
  if (node.kind != Kind::sequence) return {};
  return node.children;
}

/// Of a mapping, each with its key.
std::span<const YamlNode> members(const YamlNode& node) {
  if (node.kind != Kind::mapping) return {};
  return node.children;
}

bool is_known(const YamlNode& node) { return node.kind != Kind::null; }

const std::string* find(const Variables& variables, std::string_view name) {
  const auto at = std::find_if(variables.rbegin(), variables.rend(),
                               [&](const auto& variable) { return variable.first == name; });
  return at == variables.rend() ? nullptr : &at->second;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Reads the nodes of one file.
class Reader {
 public:
  Reader(std::string where, Lookup lookup) : where_(std::move(where)), lookup_(std::move(lookup)) {}

  Result<std::vector<Container>> read(const std::vector<YamlNode>& documents) {
    for (const YamlNode& root : documents) {
      if (is_known(get(root, "services")))
        services(get(root, "services"));
      else
        find_pods(root);
    }
    if (problem_) return tl::unexpected(*problem_);
    return std::move(containers_);
  }

 private:
  void fail(const YamlNode& node, std::string what, std::string hint) {
    if (!problem_)
      problem_ = Error{ErrorKind::bad_input, std::move(what), place_in(where_, node.line),
                       std::move(hint)};
  }

  std::string filled(const std::string& text) const {
    return is_compose_ ? with_variables(text, lookup_) : text;
  }

  /// Of a scalar; "" of any other node.
  std::string text(const YamlNode& node) const {
    return node.kind == Kind::scalar ? filled(node.text) : std::string();
  }

  /// A list of words, or a line that is split as a shell splits it.
  std::vector<std::string> words(const YamlNode& node) {
    std::vector<std::string> all;
    if (node.kind == Kind::scalar) return shell_words(text(node));
    if (node.kind == Kind::mapping) fail(node, "is no command", "a line or a list");
    for (const YamlNode& item : items(node)) {
      if (item.kind == Kind::mapping || item.kind == Kind::sequence)
        fail(item, "is no word of a command", "quote it: a colon makes a mapping of it");
      all.push_back(text(item));
    }
    return all;
  }

  /// A mapping, or a list of NAME=value, NAME (taken from outside) and Kubernetes' name and value.
  Variables environment(const YamlNode& node) {
    Variables all;
    for (const YamlNode& value : members(node)) all.emplace_back(value.key, text(value));
    for (const YamlNode& item : items(node)) {
      if (const YamlNode& name = get(item, "name"); is_known(name)) {
        if (const YamlNode& value = get(item, "value"); is_known(value))
          all.emplace_back(text(name), text(value));
        continue;
      }
      const std::string line = text(item);
      const std::size_t equals = line.find('=');
      if (equals != std::string::npos)
        all.emplace_back(line.substr(0, equals), line.substr(equals + 1));
      else if (const auto outer = lookup_(line))
        all.emplace_back(line, *outer);
    }
    return all;
  }

  /// deploy.resources.reservations.devices and gpus of compose.
  std::optional<std::int64_t> compose_gpus(const YamlNode& service) const {
    std::optional<std::int64_t> gpus;
    const auto add = [&](const YamlNode& device) {
      const std::size_t ids = items(get(device, "device_ids")).size();
      const std::optional<std::int64_t> count = ids > 0
                                                    ? std::optional(static_cast<std::int64_t>(ids))
                                                    : whole_number(text(get(device, "count")));
      if (count) gpus = gpus.value_or(0) + *count;
    };
    const YamlNode& reserved = get(get(get(service, "deploy"), "resources"), "reservations");
    std::ranges::for_each(items(get(reserved, "devices")), add);
    std::ranges::for_each(items(get(service, "gpus")), add);
    return gpus;
  }

  void services(const YamlNode& node) {
    is_compose_ = true;
    if (node.kind != Kind::mapping)
      return fail(node, "services are no mapping", "NAME: { image: ... }");
    for (const YamlNode& service : members(node)) {
      Container container;
      container.name = service.key;
      container.image = text(get(service, "image"));
      container.entry_point = words(get(service, "entrypoint"));
      container.command = words(get(service, "command"));
      container.environment = environment(get(service, "environment"));
      for (const YamlNode& volume : items(get(service, "volumes")))
        container.volumes.push_back(volume.kind == Kind::mapping
                                        ? text(get(volume, "source")) + ":" +
                                              text(get(volume, "target"))
                                        : text(volume));
      container.gpus = compose_gpus(service);
      container.line = service.line;
      containers_.push_back(std::move(container));
    }
  }

  /// "containers" of a mapping at any depth: pods, deployments, jobs and resources of others.
  void find_pods(const YamlNode& node) {
    if (problem_) return;
    if (is_known(get(node, "pytorchReplicaSpecs"))) torch_replicas(node);
    for (const YamlNode& value : members(node)) {
      if (value.key == "containers")
        for (const YamlNode& container : items(value)) pod_container(container);
      else if (value.key == "trainer" && is_known(get(value, "command")))
        trainer(value);
      else if (value.key == "entrypoint" && value.kind == Kind::scalar)
        entry_point(value);
      else
        find_pods(value);
    }
    for (const YamlNode& item : items(node)) find_pods(item);
  }

  /// What torchrun reads in all pods of a PyTorchJob: as many nodes as there are replicas
  /// (training-operator 1.9, pkg/controller.v1/pytorch/envvar.go).
  void torch_replicas(const YamlNode& spec) {
    std::int64_t nodes = 0;
    for (const YamlNode& replicas : members(get(spec, "pytorchReplicaSpecs")))
      nodes += whole_number(text(get(replicas, "replicas"))).value_or(1);
    const std::string each = text(get(spec, "nprocPerNode"));
    job_variables_ = {{"PET_NNODES", fmt::format("{}", nodes)},
                      {"PET_NPROC_PER_NODE", each.empty() ? "auto" : each}};
  }

  /// spec.trainer of a TrainJob, and torchrun's variables there (Kubeflow Trainer 2.0,
  /// pkg/runtime/framework/plugins/torch/torch.go).
  void trainer(const YamlNode& node) {
    const std::string nodes = text(get(node, "numNodes")), each = text(get(node, "numProcPerNode"));
    job_variables_ = {{"PET_NNODES", nodes.empty() ? "1" : nodes},
                      {"PET_NPROC_PER_NODE", each.empty() ? "auto" : each}};
    add_container(node, "trainer", get(node, "resourcesPerNode"));
  }

  /// What a RayJob starts, on whichever of its pods.
  void entry_point(const YamlNode& node) {
    Container container;
    container.name = node.key;
    container.entry_point = words(node);
    container.line = node.line;
    containers_.push_back(std::move(container));
  }

  /// An alias may bring one here again, and what is no container.
  void pod_container(const YamlNode& node) {
    const bool seen =
        std::ranges::any_of(containers_, [&](const Container& c) { return c.line == node.line; });
    if (seen || (!is_known(get(node, "name")) && !is_known(get(node, "image")))) return;
    add_container(node, text(get(node, "name")), get(node, "resources"));
  }

  void add_container(const YamlNode& node, std::string name, const YamlNode& resources) {
    Container container;
    container.name = std::move(name);
    container.image = text(get(node, "image"));
    container.environment = job_variables_;
    for (auto& variable : environment(get(node, "env")))
      container.environment.push_back(std::move(variable));
    container.entry_point = words(get(node, "command"));
    container.command = words(get(node, "args"));
    for (auto* list : {&container.entry_point, &container.command})
      for (std::string& word : *list) word = with_pod_variables(word, container.environment);
    for (const char* kind : {"requests", "limits"})
      if (const auto gpus = whole_number(text(get(get(resources, kind), "nvidia.com/gpu"))))
        container.gpus = gpus;
    container.line = node.line;
    containers_.push_back(std::move(container));
  }

  /// $(NAME), as Kubernetes fills it in.
  static std::string with_pod_variables(std::string_view word, const Variables& variables) {
    std::string filled;
    while (!word.empty()) {
      const std::size_t at = std::min(word.find("$("), word.size());
      filled += word.substr(0, at);
      word.remove_prefix(at);
      const std::size_t end = word.find(')');
      if (word.empty() || end == std::string_view::npos) break;
      const std::string* value = find(variables, word.substr(2, end - 2));
      filled += value ? std::string_view(*value) : word.substr(0, end + 1);
      word.remove_prefix(end + 1);
    }
    return filled.append(word);
  }

  std::string where_;
  Lookup lookup_;
  std::vector<Container> containers_;
  Variables job_variables_;  ///< that a job's controller sets
  std::optional<Error> problem_;
  bool is_compose_ = false;
};

/// NAME=value lines.
Variables variables_of(const std::string& text) {
  Variables all;
  for (const std::vector<std::string>& line : shell_commands(text))
    for (const std::string& word : line)
      if (const std::size_t equals = word.find('='); equals != std::string::npos)
        all.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  return all;
}

/// compose's own order of default names, and of those that override them.
Result<std::vector<std::string>> default_files() {
  constexpr std::array<const char*, 4> kNames{"compose.yaml", "compose.yml", "docker-compose.yaml",
                                              "docker-compose.yml"};
  constexpr std::array<const char*, 4> kOverrides{"compose.override.yaml", "compose.override.yml",
                                                  "docker-compose.override.yaml",
                                                  "docker-compose.override.yml"};
  const auto* const name = std::ranges::find_if(kNames, is_there);
  if (name == kNames.end())
    return bad_input("there is no compose.yaml here", "docker compose", "name the file with -f");
  std::vector<std::string> files{*name};
  const auto* const more = std::ranges::find_if(kOverrides, is_there);
  if (more != kOverrides.end()) files.emplace_back(*more);
  return files;
}

Result<std::vector<Container>> containers_of(const std::string& file, const Lookup& lookup) {
  const Result<std::string> text = read_text_file(file, kLargestFile);
  if (!text) return tl::unexpected(text.error());
  const auto documents = read_yaml_documents(*text, file);
  if (!documents) return tl::unexpected(documents.error());
  return Reader(file, lookup).read(*documents);
}

/// The .env file beside the first file.
Variables dotenv_of(const launch::ContainerRequest& request) {
  const std::filesystem::path beside =
      std::filesystem::path(request.files.front()).parent_path() / ".env";
  if (!is_there(beside)) return {};
  const Result<std::string> text = read_text_file(beside.string(), kLargestFile);
  return text ? variables_of(*text) : Variables{};
}

}  // namespace

Result<std::vector<Container>> read_containers(launch::ContainerRequest& request) {
  if (request.files.empty()) {
    Result<std::vector<std::string>> files = default_files();
    if (!files) return tl::unexpected(files.error());
    request.files = *std::move(files);
  }
  const Variables variables = dotenv_of(request);
  const auto lookup = [&](std::string_view name) -> std::optional<std::string> {
    if (const std::string* value = find(request.environment, name)) return *value;
    if (const char* value = std::getenv(std::string(name).c_str())) return value;
    if (const std::string* value = find(variables, name)) return *value;
    return std::nullopt;
  };
  std::vector<Container> all;
  for (const std::string& file : request.files) {
    Result<std::vector<Container>> containers = containers_of(file, lookup);
    if (!containers) return containers;
    if (request.merges)
      merge_containers(all, *std::move(containers));
    else
      all.insert(all.end(), containers->begin(), containers->end());
  }
  return all;
}

}  // namespace memtape::sources
