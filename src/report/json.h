// SPDX-License-Identifier: Apache-2.0
// The answer for programs: one JSON object of schema "memtape/1" (docs/json.md,
// docs/memtape-1.schema.json). Keys may be added to it, none may change its name or meaning.
#pragma once

#include <string>

#include "report/prediction.h"

namespace memtape::report {

/// Pretty-printed, ending in a line break.
std::string json(const Prediction& prediction);

}  // namespace memtape::report
