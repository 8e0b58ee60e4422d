// SPDX-License-Identifier: Apache-2.0
// The Python environment in which a user works, and the releases that are installed there. They are
// read from the names of its *.dist-info folders (PEP 376), without starting Python.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memtape::sources {

struct InstalledPackage {
  std::string name, version;
};

struct PythonEnvironment {
  std::filesystem::path prefix;  ///< its folder, which contains bin/
  std::vector<InstalledPackage> packages;
};

/// A variable of the process, which is empty if it is not set.
using Variable = std::function<std::string(std::string_view)>;

/// VIRTUAL_ENV, or else CONDA_PREFIX, or else what holds the first python3 on PATH (behind pyenv's
/// shim, the version that pyenv names). It is nothing if none of them has a folder of packages.
std::optional<PythonEnvironment> active_environment(const Variable& variable);

/// The environment of an interpreter (.../bin/python) or of a folder (a virtual environment, or
/// site-packages itself). It fails if there are no packages.
Result<PythonEnvironment> environment_at(const std::filesystem::path& place);

}  // namespace memtape::sources
