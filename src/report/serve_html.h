// SPDX-License-Identifier: Apache-2.0
// The serving answer as one self-contained web page. It shows each rank's GPU as a stacked bar,
// what its cache holds, the arithmetic of a token, and what could be changed. Its data is the
// answer's JSON.
#pragma once

#include <span>
#include <string>

#include "outcome/serve_answer.h"

namespace memtape::report {

/// `arithmetic` is the calculation of the cache's size as one does it by hand, line by line.
std::string html(const ServeAnswer& answer, std::span<const std::string> arithmetic);

}  // namespace memtape::report
