// SPDX-License-Identifier: Apache-2.0
// What tables of options show to people: the parts of a command's help, which a program lays out for
// its terminal.
#pragma once

#include <string>

#include "option/words.h"

namespace memtape::option {

/// "memtape serve [options] MODEL"
std::string usage(const Syntax& syntax);
/// The names of the groups of options that are shown, in the order of the table.
std::vector<std::string_view> groups_of(const Table& table);
/// "--help -h", "--gpu NAME"
std::string left_of(const Option& option);

}  // namespace memtape::option
