// SPDX-License-Identifier: Apache-2.0
// The answer of `memtape explain` as text, as JSON and as a page (docs/explain.md, docs/json.md).
#pragma once

#include <string>

#include "evidence/explanation.h"
#include "report/style.h"

namespace memtape::report {

/// `width` is the number of columns of the terminal.
std::string text(const Explanation& explanation, const Style& style, int width);
/// One line for each recording, message or log.
std::string quiet_text(const Explanation& explanation);
std::string json(const Explanation& explanation);
/// One page: what was allocated over time with the prediction over it, the bytes of the peak by
/// stack, and the segments block by block.
std::string html(const Explanation& explanation);

}  // namespace memtape::report
