// SPDX-License-Identifier: Apache-2.0
// The help of a command, laid out for a terminal: its options in two columns, what stands in the
// right one broken at blanks, each with its choices and its default. A command that has more options
// than a screen has lines names the first ones; the others are shown by `--help --all`.
#pragma once

#include <string>
#include <string_view>

#include "option/words.h"

namespace memtape::cli {

/// `first` are the names of the options to show, with blanks between; "" shows all.
std::string help_page(const option::Syntax& syntax, int width, std::string_view first);

/// Whether the words after a command's name ask for all of its help.
bool wants_all_help(option::Arguments typed);

}  // namespace memtape::cli
