// SPDX-License-Identifier: Apache-2.0
#include "option/words.h"

#include <array>

#include <gmock/gmock.h>

namespace memtape::option {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::array kTyped{
    Option{"--micro-batch-size -b", "N", "sequences"}.people_say("--bs"),
    Option{"--freeze", "GLOB", "names"}.adds_up(),
    Option{"--per_device_batch", "[VALUE]"},
    Option{"--quiet", "", "less"},
    Option{"--compile", "", "", "", OnOff{}},
};

Syntax typed() {
  Syntax made{.command = "train", .operands = {{"MODEL"}}};
  add(std::span<const Option>(kTyped), made.table);
  return made;
}

Result<Words> words_of(std::vector<const char*> words) { return read_words(typed(), words); }

NamedValues values(std::vector<const char*> words) {
  words.insert(words.begin(), "model");
  return in_table_order(words_of(std::move(words)).value(), typed().table);
}

std::string refusal(std::vector<const char*> words) {
  const Result<Words> read = words_of(std::move(words));
  return read ? "(read)" : read.error().line();
}

TEST(Words, TakeValuesBehindEqualsOrInTheNextWord) {
  EXPECT_THAT(values({"--micro-batch-size=4"}), ElementsAre(Pair("micro-batch-size", "4")));
  EXPECT_THAT(values({"-b", "-1"}), ElementsAre(Pair("micro-batch-size", "-1")));
}

TEST(Words, TakeDashesAndUnderscoresAlike) {
  EXPECT_THAT(values({"--micro_batch_size", "4"}), ElementsAre(Pair("micro-batch-size", "4")));
  EXPECT_THAT(values({"--per-device-batch", "4"}), ElementsAre(Pair("per_device_batch", "4")));
}

TEST(Words, MayLeaveOutAValueAndKeepTheOperand) {
  EXPECT_THAT(values({"--per_device_batch", "--quiet"}),
              ElementsAre(Pair("per_device_batch", ""), Pair("quiet", "true")));
  const Words words = words_of({"--per_device_batch", "model"}).value();
  EXPECT_EQ(words.operand(), "model");
}

TEST(Words, AddUpWhereTheOptionDoes) {
  EXPECT_THAT(values({"--freeze", "a", "--freeze", "b"}),
              ElementsAre(Pair("freeze", "a"), Pair("freeze", "b")));
  EXPECT_EQ(refusal({"m", "-b", "2", "-b", "8"}),
            "--micro-batch-size: is given twice, as 2 and 8 (leave out one of them)");
}

TEST(Words, NameWhatIsWrongAndWhatIsNear) {
  EXPECT_EQ(refusal({"m", "--frees", "x"}),
            "train: unknown option --frees (did you mean --freeze?)");
  EXPECT_EQ(refusal({"m", "--bs", "2"}),
            "train: unknown option --bs (did you mean --micro-batch-size?)");
  EXPECT_EQ(refusal({"m", "-b"}), "train: -b needs a value (see memtape train --help)");
  EXPECT_EQ(refusal({"m", "--quiet=1"}),
            "train: --quiet takes no value (see memtape train --help)");
  EXPECT_EQ(refusal({}), "train: MODEL is required (see memtape train --help)");
  EXPECT_EQ(refusal({"m", "n"}), "train: one argument too many: n (see memtape train --help)");
}

TEST(Words, SwitchOffWhereAValueMaySaySo) {
  EXPECT_THAT(values({"--compile=false"}), ElementsAre(Pair("compile", "false")));
}

}  // namespace
}  // namespace memtape::option
