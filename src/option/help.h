// SPDX-License-Identifier: Apache-2.0
// What tables of options say to people: the help of a command, and a page of docs/options.md.
#pragma once

#include <string>

#include "option/words.h"

namespace memtape::option {

/// Options under a heading of their own, behind the others.
struct Section {
  std::string heading;
  Table table;
};

/// `memtape COMMAND --help`
std::string help_text(const Syntax& syntax, std::span<const Section> more = {});

/// A heading and tables of the options, in Markdown.
std::string help_markdown(const Syntax& syntax);
/// The tables alone.
std::string table_markdown(const Table& table);

/// "a whole number", "`bfd`, `wrapped`": what an option may say.
std::string kind_text(const Option& option);

}  // namespace memtape::option
