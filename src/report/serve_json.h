// SPDX-License-Identifier: Apache-2.0
// The serving answer as JSON, schema "memtape/1" (docs/json.md).
#pragma once

#include <string>

#include "outcome/serve_answer.h"

namespace memtape::report {

std::string json(const ServeAnswer& answer);

}  // namespace memtape::report
