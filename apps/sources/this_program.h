// SPDX-License-Identifier: Apache-2.0
// Where the running program lies, links followed: what was built or installed with it is found
// from there.
#pragma once

#include <filesystem>

namespace memtape::sources {

/// Its absolute path; empty where the system does not say.
std::filesystem::path this_program();

}  // namespace memtape::sources
