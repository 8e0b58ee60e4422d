// SPDX-License-Identifier: Apache-2.0
#include "option/help.h"

#include <array>

#include <gtest/gtest.h>

namespace memtape::option {
namespace {

constexpr std::array kHelped{
    Option{"--gpus -g", "N", "how many", "Hardware", Whole{}, "1"},
    Option{"--a-name-that-leaves-no-room-beside-it", "VALUE", "what it does"},
    Option{"--hidden", "N"},
};

Syntax helped() {
  Syntax made{.command = "fit",
              .operands = {{"MODEL", "a name"}, {"FILE", "more", false, true}},
              .summary = "what fits",
              .example = "memtape fit x"};
  add(std::span<const Option>(kHelped), made.table);
  return made;
}

TEST(Help, HasTheWordsOfAUsage) {
  EXPECT_EQ(usage(helped()), "memtape fit [options] MODEL [FILE...]");
  EXPECT_EQ(left_of(kHelped[0]), "--gpus -g N");
}

}  // namespace
}  // namespace memtape::option
