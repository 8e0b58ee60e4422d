// SPDX-License-Identifier: Apache-2.0
// A comparison of servers as text, with a line for each and a mark at the winner, and as JSON; and
// what --compare does not stand beside.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "answer/table.h"
#include "option/given.h"
#include "predict/serve_compare.h"

namespace memtape::answer {

std::string text(const Comparison& comparison, Widths widths);
/// Only the winner, or a sentence that there is none.
std::string quiet_text(const Comparison& comparison);
std::string json(const Comparison& comparison);

/// Nothing stands beside the --compare of a command that it would drop.
Result<void> compares_alone(std::string_view command, std::span<const NamedValue> values);

}  // namespace memtape::answer
