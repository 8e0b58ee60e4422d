// SPDX-License-Identifier: Apache-2.0
// The files of src/report/html/ as text. src/report/html/embed.cmake puts them into the program
// when it is built.
#pragma once

#include <string_view>

namespace memtape::report {

/// frame.html, in which @style@, @body@, @data@ and @script@ mark where the other parts go.
extern const std::string_view kFrame;
extern const std::string_view kStyle;  ///< style.css
extern const std::string_view kWords;  ///< words.js, which the script of every page continues
extern const std::string_view kPage, kScript;   ///< page.html and timeline.js
extern const std::string_view kScheduleScript;  ///< schedule.js, which continues timeline.js
extern const std::string_view kServePage, kServeScript;  ///< serve.html and serve.js
extern const std::string_view kPlanPage, kPlanScript;    ///< plan.html and plan.js

/// Explanation.html and explanation.js.
extern const std::string_view kExplanationPage, kExplanationScript;

}  // namespace memtape::report
