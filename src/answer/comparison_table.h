// SPDX-License-Identifier: Apache-2.0
// A comparison of servers for people (a line each, the winner marked) and as JSON.
#pragma once

#include <string>

#include "predict/serve_compare.h"

namespace memtape::answer {

std::string text(const Comparison& comparison);
/// The winner alone, or that there is none.
std::string quiet_text(const Comparison& comparison);
std::string json(const Comparison& comparison);

}  // namespace memtape::answer
