// SPDX-License-Identifier: Apache-2.0
// --gpus beside an engine whose ranks say how many GPUs it runs on.
#pragma once

#include <string_view>

#include "serving/serve_engine.h"

namespace memtape {

/// Refuses GPUs that were asked for and that none of `ranks` runs on; `spread` names the flags
/// that would make more ranks, "" where there are none.
Result<void> all_gpus_used(const ServeRequest& request, std::string_view engine, int ranks,
                           std::string_view spread);

}  // namespace memtape
