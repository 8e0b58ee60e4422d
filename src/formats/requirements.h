// SPDX-License-Identifier: Apache-2.0
// Which releases a project asks for: requirements.txt (pip's format), uv.lock and poetry.lock
// ([[package]] tables), and pyproject.toml (PEP 621's dependencies and their groups). Only a
// requirement that is pinned with == names a release.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "release/requirement_list.h"

namespace memtape {

struct Requirements {
  NamedReleases releases;
  std::vector<std::string> unpinned;  ///< known packages with a range of versions or with none
};

/// Reads the text of a file, which is called `file` in errors. The name of the file decides its
/// format.
Result<Requirements> read_requirements(std::string_view text, std::string_view file);

}  // namespace memtape
