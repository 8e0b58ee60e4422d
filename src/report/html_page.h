// SPDX-License-Identifier: Apache-2.0
// A web page that needs nothing else: style, script and data put into the places that one of the
// pages of html/ marks with @style@, @script@ and @data@.
#pragma once

#include <string>
#include <string_view>

namespace memtape::report {

/// `data` is JSON.
std::string html_page(std::string_view page, std::string_view script, std::string data);

}  // namespace memtape::report
