// SPDX-License-Identifier: Apache-2.0
// The answer for programs: one JSON object of schema "memtape/1" (docs/json.md,
// docs/memtape-1.schema.json). Keys may be added to it, but no key may change its name or its
// meaning.
#pragma once

#include <span>
#include <string>

#include "outcome/prediction.h"
#include "report/rules_of_thumb.h"

namespace memtape::report {

/// The text is pretty-printed and ends in a line break. It has the key "rules" if there are any.
std::string json(const Prediction& prediction, std::span<const RuleOfThumb> rules = {});

}  // namespace memtape::report
