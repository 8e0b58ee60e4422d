// SPDX-License-Identifier: Apache-2.0
// A web page that needs nothing else: style, body, data and script put into the places that
// html/frame.html marks.
#pragma once

#include <string>
#include <string_view>

namespace memtape::report {

/// `data` is JSON.
std::string html_page(std::string_view body, std::string_view script, std::string data);

}  // namespace memtape::report
