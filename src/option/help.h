// SPDX-License-Identifier: Apache-2.0
// What tables of options show to people: the help of a command, and the page docs/options.md.
#pragma once

#include <string>

#include "option/words.h"

namespace memtape::option {

/// Options with their own heading, after the others.
struct Section {
  std::string heading;
  Table table;
};

/// The text of `memtape COMMAND --help`.
std::string help_text(const Syntax& syntax, std::span<const Section> more = {});

/// A heading and the tables of the options, in Markdown.
std::string help_markdown(const Syntax& syntax);
/// Only the table.
std::string table_markdown(const Table& table);

/// What an option may be set to: "a whole number", "`bfd`, `wrapped`".
std::string kind_text(const Option& option);

}  // namespace memtape::option
