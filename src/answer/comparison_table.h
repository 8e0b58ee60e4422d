// SPDX-License-Identifier: Apache-2.0
// A comparison of servers as text, with a line for each and a mark at the winner, and as JSON.
#pragma once

#include <string>

#include "answer/table.h"
#include "predict/serve_compare.h"

namespace memtape::answer {

std::string text(const Comparison& comparison, Widths widths);
/// Only the winner, or a sentence that there is none.
std::string quiet_text(const Comparison& comparison);
std::string json(const Comparison& comparison);

}  // namespace memtape::answer
