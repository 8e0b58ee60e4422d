// SPDX-License-Identifier: Apache-2.0
// The commands that name a compose file or a Kubernetes file. A container of such a file is
// expressed as the `docker run` command that starts it.
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

/// A command that starts the containers of a file.
struct ContainerRequest {
  std::vector<std::string> files;  ///< empty: the compose file of the folder
  bool merges = false;             ///< compose: a later file continues an earlier one
  std::vector<std::string> names;  ///< the services or containers that are asked for
  std::vector<std::pair<std::string, std::string>> environment;  ///< set before the command

  /// The names of the files, for messages.
  std::string where() const;
};

/// Recognises docker compose, docker-compose, kubectl, or a .yaml file itself. It returns nothing
/// for other commands.
Result<std::optional<ContainerRequest>> container_request(std::span<const std::string> words);

/// The container that is meant: the one that is named, or the only one whose program is known.
/// `files` are those that its command names.
Result<Container> chosen_container(const std::vector<Container>& containers,
                                   const ContainerRequest& request, const Files& files);

}  // namespace memtape::launch
