// SPDX-License-Identifier: Apache-2.0
// The containers of a compose file (services) or a Kubernetes file (containers of pods, whatever
// kind holds the pod).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/container.h"

namespace memtape::sources {

/// The containers of `request`'s files; without one, of the folder's compose file and of what
/// overrides it. Variables of compose files are filled in from what stands before the command, from
/// this process and from the .env file beside the first.
Result<std::vector<Container>> read_containers(launch::ContainerRequest& request);

}  // namespace memtape::sources
