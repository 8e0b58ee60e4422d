// SPDX-License-Identifier: Apache-2.0
// Where the stand-in libraries are, and the environment that makes a program load them instead of
// NVIDIA's.
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

/// The folder of the stand-ins: beside this program in a build folder, or where it was installed.
/// Where ./memtape built this program they are built now, if they never were.
Result<std::filesystem::path> stand_ins_folder();

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Launch {
  std::filesystem::path stand_ins, run_folder;
  std::optional<int> cuda;  ///< both sets when unknown
};

/// What is set for the program, beyond its own environment.
Environment environment_of(const PhantomRequest& request, const Program& program,
                           const Launch& launch);

}  // namespace memtape::phantom_run
