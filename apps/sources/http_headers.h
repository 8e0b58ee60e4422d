// SPDX-License-Identifier: Apache-2.0
// The headers of a response, line by line as they arrive.
#pragma once

#include <string_view>

#include "sources/http.h"

namespace memtape::sources {

/// Notes what a header line says. Every response in a chain of redirects begins with a status line;
/// only the headers of the last one count.
void take_header(std::string_view line, HttpResponse& response);

}  // namespace memtape::sources
