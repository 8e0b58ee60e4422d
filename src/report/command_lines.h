// SPDX-License-Identifier: Apache-2.0
// A command over as many lines as it takes, each but the last with the shell's sign that it goes
// on: what is copied from a terminal runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtape::report {

/// Lines of at most `width` columns where words allow it, the first indented by `indent`, the
/// others by `further`. Words end at blanks outside single quotes.
std::vector<std::string> command_lines(std::string_view command, int width, int indent,
                                       int further);

}  // namespace memtape::report
