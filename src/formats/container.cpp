// SPDX-License-Identifier: Apache-2.0
#include "formats/container.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"

namespace memtape {

std::optional<Mount> read_mount(std::string_view words) {
  Mount mount;
  for (const std::string& part : split_at_commas(words)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view name = std::string_view(part).substr(0, equals);
    if (name == "source" || name == "src") mount.host = part.substr(equals + 1);
    if (name == "target" || name == "dst" || name == "destination")
      mount.inside = part.substr(equals + 1);
  }
  if (const std::size_t colon = words.rfind(":/"); colon != words.npos && mount.inside.empty()) {
    const std::string_view inside = words.substr(colon + 1);
    mount = {std::string(words.substr(0, colon)), std::string(inside.substr(0, inside.find(':')))};
  }
  if (mount.host.find('/') == std::string::npos || mount.inside.empty()) return std::nullopt;
  return mount;
}

std::string path_on_host(const std::string& path, std::span<const Mount> mounts) {
  for (const Mount& mount : mounts) {
    const std::size_t length = mount.inside.size();
    if (path.starts_with(mount.inside) && (path.size() == length || path[length] == '/'))
      return mount.host + path.substr(length);
  }
  return path;
}

void merge_containers(std::vector<Container>& into, std::vector<Container> more) {
  for (Container& later : more) {
    const auto at = std::ranges::find(into, later.name, &Container::name);
    if (at == into.end()) {
      into.push_back(std::move(later));
      continue;
    }
    if (!later.image.empty()) at->image = std::move(later.image);
    if (!later.entry_point.empty()) at->entry_point = std::move(later.entry_point);
    if (!later.command.empty()) at->command = std::move(later.command);
    std::ranges::move(later.volumes, std::back_inserter(at->volumes));
    if (later.gpus) at->gpus = at->gpus.value_or(0) + *later.gpus;
    for (auto& [name, value] : later.environment) {
      std::erase_if(at->environment, [&](const auto& held) { return held.first == name; });
      at->environment.emplace_back(std::move(name), std::move(value));
    }
  }
}

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

Result<Container> container_named(const std::vector<Container>& containers, const std::string& name,
                                  const std::string& file) {
  std::vector<std::string_view> names;
  for (const Container& container : containers) {
    if (container.name == name) return container;
    names.push_back(container.name);
  }
  return bad_input(fmt::format("describes no {}", name), file, suggestion(name, names));
}

std::optional<std::int64_t> gpus_of_container(std::string text) {
  std::erase(text, '"');
  if (text.starts_with("device=")) return 1 + std::ranges::count(text, ',');
  if (text.starts_with("count=")) text.erase(0, sizeof("count=") - 1);
  const auto value = whole_number(std::string_view(text).substr(0, text.find(',')));
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<std::string> release_of_image(std::string_view image, std::string_view engine) {
  const std::size_t colon = image.rfind(':');
  if (image.find(engine) == std::string_view::npos || colon == std::string_view::npos)
    return std::nullopt;
  std::string_view tag = image.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  tag = tag.substr(0, tag.find_first_not_of("0123456789."));
  while (tag.ends_with('.')) tag.remove_suffix(1);
  if (std::ranges::count(tag, '.') != 2) return std::nullopt;
  return std::string(tag);
}

}  // namespace memtape
