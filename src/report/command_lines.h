// SPDX-License-Identifier: Apache-2.0
// A command spread over as many lines as it needs. Every line but the last ends in the shell's
// continuation sign, so that the text runs when it is copied from a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtape::report {

/// Lines of at most `width` columns, as far as the lengths of the words allow it. The first line is
/// indented by `indent`, the others by `further`. Words end at blanks outside of single quotes.
std::vector<std::string> command_lines(std::string_view command, int width, int indent,
                                       int further);

}  // namespace memtape::report
