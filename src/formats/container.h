// SPDX-License-Identifier: Apache-2.0
// Containers as compose and Kubernetes files describe them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace memtape {

/// A folder of the host, and where a container sees it.
struct Mount {
  std::string host, inside;
};

/// "HOST:INSIDE[:ro]", or "type=bind,source=HOST,target=INSIDE". It is nothing where no host's
/// folder is named.
std::optional<Mount> read_mount(std::string_view words);

/// Where the host has what a container sees under `path`.
std::string path_on_host(const std::string& path, std::span<const Mount> mounts);

/// How many GPUs docker run's `--gpus` names: "2", "\"device=0,1\"", "count=2,capabilities=compute". It
/// is nothing for all of them.
std::optional<std::int64_t> gpus_of_container(std::string text);

/// The release that an engine's image holds, where its tag says: "0.11.0" of
/// "vllm/vllm-openai:v0.11.0-cu128".
std::optional<std::string> release_of_image(std::string_view image, std::string_view engine);

struct Container {
  std::string name, image;
  std::vector<std::string> entry_point;  ///< replaces the image's own, if it is given
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> volumes;  ///< "HOST:INSIDE"
  std::optional<std::int64_t> gpus;
  int line = 0;  ///< where its file describes it
};

/// The words of `docker run` with everything that the description of a container says.
std::vector<std::string> docker_words(const Container& container);

/// The one of that name, or an Error that says which are in `file`.
Result<Container> container_named(const std::vector<Container>& containers, const std::string& name,
                                  const std::string& file);

/// Adds the containers of the next file. Services with the same name become one, by the merge rules
/// of the Compose specification: words and images are replaced, variables and devices are added.
void merge_containers(std::vector<Container>& into, std::vector<Container> more);

}  // namespace memtape
