// SPDX-License-Identifier: Apache-2.0
// A self-contained web page: style, body, data and script are put into the places that
// html/frame.html marks.
#pragma once

#include <string>
#include <string_view>

namespace memtape::report {

/// `data` is JSON text.
std::string html_page(std::string_view body, std::string_view script, std::string data);

}  // namespace memtape::report
