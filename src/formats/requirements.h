// SPDX-License-Identifier: Apache-2.0
// Which releases a project asks for: requirements.txt (pip's format), uv.lock and poetry.lock
// ([[package]] tables), pyproject.toml (PEP 621's dependencies and their groups). Only what is
// pinned with == names a release.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "release/requirement_list.h"

namespace memtape {

struct Requirements {
  NamedReleases releases;
  std::vector<std::string> unpinned;  ///< followed packages that a range or nothing stands behind
};

/// The text of a file that is called `file` in errors; its name says which format it has.
Result<Requirements> read_requirements(std::string_view text, std::string_view file);

}  // namespace memtape
