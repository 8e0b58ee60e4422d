// SPDX-License-Identifier: Apache-2.0
// Checks --gpus for an engine whose ranks say on how many GPUs it runs.
#pragma once

#include <string_view>

#include "serving/serve_engine.h"

namespace memtape {

/// Refuses GPUs that were asked for and on which none of `ranks` runs. `spread` names the flags
/// that would make more ranks; it is "" if there are none.
Result<void> all_gpus_used(const ServeRequest& request, std::string_view engine, int ranks,
                           std::string_view spread);

}  // namespace memtape
