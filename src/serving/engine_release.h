// SPDX-License-Identifier: Apache-2.0
// The release of an inference engine that --engine-version names.
#pragma once

#include "base/result.h"
#include "release/release.h"
#include "workload/serve_options.h"

namespace memtape {

/// `below` are the releases of the packages on which the engine runs. The engine's own release is
/// added to them: three numbers, as in "0.11.2", "v0.11.2" or "0.5.3.post1", or `newest` if nobody
/// names one.
Result<Release> engine_release(const ServeOptions& options, Package engine, std::string_view newest,
                               Release below);

}  // namespace memtape
