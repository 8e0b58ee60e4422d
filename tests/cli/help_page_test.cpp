// SPDX-License-Identifier: Apache-2.0
#include "help_page.h"

#include <array>
#include <sstream>

#include <gmock/gmock.h>

namespace memtape::cli {
namespace {

using option::Choice;
using option::Option;
using option::Syntax;
using option::Whole;

constexpr std::array<std::string_view, 3> kNames{"red", "green", "blue"};
constexpr std::array kShown{
    Option{"--gpus -g", "N", "how many", "Hardware", Whole{}, "1"},
    Option{"--colour", "{red,green}", "what it is painted in", {}, Choice{kNames}, "red"},
    Option{"--a-name-that-leaves-no-room-beside-it", "VALUE", "what it does"},
    Option{"--hidden", "N"},
};

Syntax shown() {
  Syntax made{.command = "fit",
              .operands = {{"MODEL", "a name"}, {"FILE", "more", false, true}},
              .summary = "what fits",
              .example = "memtape fit x"};
  add(std::span<const Option>(kShown), made.table);
  return made;
}

TEST(HelpPage, ShowsGroupsChoicesDefaultsAndAnExample) {
  EXPECT_EQ(help_page(shown(), 72, ""), R"(what fits
Usage: memtape fit [options] MODEL [FILE...]

Positionals:
  MODEL                     a name
  FILE                      more

Hardware:
  --gpus -g N               how many (default: 1)

Options:
  --colour NAME             what it is painted in: red, green, blue
                            (default: red)
  --a-name-that-leaves-no-room-beside-it VALUE
                            what it does

Example:
  memtape fit x
)");
}

TEST(HelpPage, ShowsTheFirstOptionsAndSaysHowToSeeAll) {
  const std::string page = help_page(shown(), 72, "colour");
  EXPECT_THAT(page, testing::HasSubstr("--colour"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("--gpus")));
  EXPECT_THAT(page, testing::EndsWith("\nmemtape fit --help --all   every option\n"));
}

TEST(HelpPage, FitsIntoTheTerminal) {
  for (const int width : {60, 80, 100}) {
    std::istringstream lines(help_page(shown(), width, ""));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
  }
}

}  // namespace
}  // namespace memtape::cli
