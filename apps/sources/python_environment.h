// SPDX-License-Identifier: Apache-2.0
// The Python environment that a user works in, and which releases are installed there: read from
// the names of its *.dist-info folders (PEP 376), without starting Python.
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
  std::filesystem::path prefix;  ///< its folder, the parent of bin/
  std::vector<InstalledPackage> packages;
};

/// A variable of the process, empty where it is not set.
using Variable = std::function<std::string(std::string_view)>;

/// VIRTUAL_ENV, else CONDA_PREFIX, else what holds the first python3 on PATH (behind pyenv's shim:
/// the version that pyenv names). Nothing where none of them has a folder of packages.
std::optional<PythonEnvironment> active_environment(const Variable& variable);

/// The environment of an interpreter (.../bin/python) or of a folder (a virtual environment, or
/// site-packages itself). Fails where there are no packages.
Result<PythonEnvironment> environment_at(const std::filesystem::path& place);

}  // namespace memtape::sources
