// SPDX-License-Identifier: Apache-2.0
// The files of src/report/html/ as text, put into the program by src/report/html/embed.cmake when
// it is built.
#pragma once

#include <string_view>

namespace memtape::report {

extern const std::string_view
    kPage;  ///< page.html: @style@, @data@ and @script@ mark where the rest goes
extern const std::string_view kStyle;                    ///< style.css
extern const std::string_view kScript;                   ///< timeline.js
extern const std::string_view kServePage, kServeScript;  ///< serve.html and serve.js

}  // namespace memtape::report
