// SPDX-License-Identifier: Apache-2.0
// The commands that name a compose or Kubernetes file. A container of such a file is said as the
// `docker run` command that starts it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/container.h"
#include "launch/launch_command.h"

namespace memtape::launch {

/// `docker run` with everything that a container's description says.
std::vector<std::string> docker_words(const Container& container);

/// A command that starts containers of a file.
struct ContainerRequest {
  std::vector<std::string> files;  ///< none: the compose file of the folder
  bool merges = false;             ///< compose: a later file goes on with what an earlier one says
  std::vector<std::string> names;  ///< the services or containers asked for
  std::vector<std::pair<std::string, std::string>> environment;  ///< set before the command

  /// The files, as messages name them.
  std::string where() const;
};

/// docker compose, docker-compose, kubectl, or a .yaml file itself; nothing for other commands.
Result<std::optional<ContainerRequest>> container_request(std::span<const std::string> words);

/// The container that is meant: the one that is named, or the only one whose program is known.
/// `files` are those that its command names.
Result<Container> chosen_container(const std::vector<Container>& containers,
                                   const ContainerRequest& request, const Files& files);

}  // namespace memtape::launch
