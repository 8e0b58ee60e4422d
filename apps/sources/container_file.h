// SPDX-License-Identifier: Apache-2.0
// The containers of a compose file (its services) or of a Kubernetes file (the containers of pods,
// whatever kind of object holds the pod).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/container.h"

namespace memtape::sources {

/// The containers of the files that `request` names; without a file, those of the folder's compose
/// file and of the file that overrides it. Variables of compose files are filled in from what
/// stands before the command, from this process, and from the .env file beside the first file.
Result<std::vector<Container>> read_containers(launch::ContainerRequest& request);

}  // namespace memtape::sources
