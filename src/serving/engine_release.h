// SPDX-License-Identifier: Apache-2.0
// The release of an inference engine that --engine-version names.
#pragma once

#include "base/result.h"
#include "release/release.h"
#include "workload/serve_options.h"

namespace memtape {

/// `below` (the packages that the engine runs on) with the engine's own release: three numbers, as
/// in "0.11.2", "v0.11.2" or "0.5.3.post1"; `newest` where nobody says.
Result<Release> engine_release(const ServeOptions& options, Package engine, std::string_view newest,
                               Release below);

}  // namespace memtape
