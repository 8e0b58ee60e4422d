// SPDX-License-Identifier: Apache-2.0
#include "answer/table.h"

#include <gtest/gtest.h>

namespace memtape::answer {
namespace {

TEST(Table, AlignsItsColumns) {
  Table table({Table::Align::left, Table::Align::right, Table::Align::left});
  table.add({"a", "1", "short"});
  table.add({"long", "22", ""});
  EXPECT_EQ(table.text(), "a      1  short\nlong  22\n") << "no line ends in spaces";
}

TEST(Table, PutsALongNameOnALineOfItsOwn) {
  Table table({Table::Align::left, Table::Align::right, Table::Align::left});
  table.add({"NAME", "SIZE", "KIND"});
  table.add({"short", "1", "one"});
  table.add({"a-long-name", "22", "two"});
  EXPECT_EQ(table.text(20),
            "NAME      SIZE  KIND\n"
            "short        1  one\n"
            "a-long-name\n"
            "            22  two\n");
  EXPECT_EQ(table.text(23), table.text()) << "it has room for all";
}

TEST(Table, FoldsRowsThatAreFarTooLong) {
  Table table({Table::Align::left, Table::Align::left, Table::Align::right, Table::Align::right});
  table.add({"NAME", "WHAT", "A", "B"});
  table.add({"first", "some words", "1000", "20"});
  EXPECT_EQ(table.text(20),
            "NAME   WHAT\n"
            "       A   B\n"
            "first  some words\n"
            "    1000  20\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  Table table({Table::Align::left, Table::Align::left});
  table.add({"\u00e9\u00e9", "x"});
  table.add({"abc", "y"});
  EXPECT_EQ(table.text(), "\u00e9\u00e9   x\nabc  y\n");
}

TEST(Table, IsEmptyWithoutRows) { EXPECT_EQ(Table({Table::Align::left}).text(), ""); }

TEST(Clipped, LeavesWhatFits) {
  EXPECT_EQ(clipped("12345", 5), "12345");
  EXPECT_EQ(clipped("123456", 5), "12...");
}

TEST(Clipped, NeverCutsACharacter) {
  const std::string text = "ab\u00e9cd\u6f22\u5b57ef\U0001f600gh";
  for (std::size_t width = 4; width < text.size(); ++width) {
    const std::string cut = clipped(text, width);
    EXPECT_LE(cut.size(), width);
    const std::string kept = cut.substr(0, cut.size() - 3);
    EXPECT_EQ(text.substr(0, kept.size()), kept);
    EXPECT_NE(static_cast<unsigned char>(text[kept.size()]) & 0xC0u, 0x80u)
        << "cut at " << width << " bytes within a character";
  }
}

}  // namespace
}  // namespace memtape::answer
