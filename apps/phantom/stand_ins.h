// SPDX-License-Identifier: Apache-2.0
// Where the stand-in libraries are, and the environment in which a program loads them instead of
// NVIDIA's libraries.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "phantom/program.h"
#include "phantom/request.h"

namespace memtape::phantom_run {

/// The folder of the stand-ins. It is beside this program in a build folder, or where it was
/// installed. If ./memtape built this program and they have never been built, they are built now.
Result<std::filesystem::path> stand_ins_folder();

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Launch {
  std::filesystem::path stand_ins, run_folder;
  std::optional<int> cuda;  ///< if it is not known, both sets are used
};

/// The variables that are set for the program, in addition to its own environment.
Environment environment_of(const PhantomRequest& request, const Program& program,
                           const Launch& launch);

}  // namespace memtape::phantom_run
