// SPDX-License-Identifier: Apache-2.0
// The files of src/report/html/ as text, put into the program by src/report/html/embed.cmake when
// it is built.
#pragma once

#include <string_view>

namespace memtape::report {

/// frame.html: @style@, @body@, @data@ and @script@ mark where the rest goes.
extern const std::string_view kFrame;
extern const std::string_view kStyle;          ///< style.css
extern const std::string_view kWords;          ///< words.js, which every page's script goes on from
extern const std::string_view kPage, kScript;  ///< page.html and timeline.js
extern const std::string_view kScheduleScript;  ///< schedule.js, which goes on from timeline.js
extern const std::string_view kServePage, kServeScript;  ///< serve.html and serve.js

extern const std::string_view kExplanationPage, kExplanationScript;  ///< explanation.html and .js

}  // namespace memtape::report
