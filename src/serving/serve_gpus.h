// SPDX-License-Identifier: Apache-2.0
// Checks --gpus for an engine whose ranks say on how many GPUs it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serving/serve_engine.h"

namespace memtape {

/// Refuses GPUs that were asked for where a server takes one of them. `spread` names the flags that
/// would make more ranks; it is "" if there are none.
Result<void> all_gpus_used(const ServeRequest& request, std::string_view engine, int ranks,
                           std::string_view spread);

/// Where a server of several ranks leaves GPUs free: says for how many the answer is.
void warn_of_idle_gpus(const ServeRequest& request, std::string_view engine, int ranks,
                       std::vector<std::string>& warnings);

}  // namespace memtape
