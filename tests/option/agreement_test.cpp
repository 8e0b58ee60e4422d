// SPDX-License-Identifier: Apache-2.0
#include "option/agreement.h"

#include <array>

#include <gmock/gmock.h>

namespace memtape::option {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr auto kCheckpointing = std::to_array<std::string_view>({"none", "full"});
constexpr std::array kSameSetting{
    Option{"--micro-batch-size", "N", "", "", Whole{}},
    Option{"--per_device_batch", "N", "", "", Whole{}}.decides("--micro-batch-size"),
    Option{"--checkpointing", "{none,full}", "", "", Choice{kCheckpointing}},
    Option{"--gradient_checkpointing", "[VALUE]", "", "", OnOff{}}.decides("--checkpointing"),
    Option{"--lora-rank", "N", "", "", Whole{}},
    Option{"--peft", "JSON"}.decides("--lora-rank"),
};

Table table() {
  Table made;
  add(std::span<const Option>(kSameSetting), made);
  return made;
}

std::string disagreement(const NamedValues& given) {
  const Result<void> agreed = agree(table(), given);
  return agreed ? "(agree)" : agreed.error().line();
}

TEST(Agreement, ComparesWhatValuesSay) {
  EXPECT_EQ(disagreement({{"micro-batch-size", "4"}, {"per_device_batch", "4"}}), "(agree)");
  EXPECT_EQ(disagreement({{"micro-batch-size", "4"}, {"per_device_batch", "8"}}),
            "--micro-batch-size 4: sets what --per_device_batch 8 sets to another value (leave out "
            "one of them)");
  EXPECT_EQ(disagreement({{"checkpointing", "full"}, {"gradient_checkpointing", "true"}}),
            "(agree)");
  EXPECT_NE(disagreement({{"checkpointing", "none"}, {"gradient_checkpointing", "true"}}),
            "(agree)");
}

TEST(Agreement, LeavesTextsApart) {
  EXPECT_NE(disagreement({{"lora-rank", "8"}, {"peft", "{\"r\": 8}"}}), "(agree)");
}

TEST(Changes, TakeThePlaceOfWhatDecidesTheSame) {
  EXPECT_THAT(with_changes(table(), {{"per_device_batch", "8"}, {"lora-rank", "4"}},
                           NamedValues{{"micro-batch-size", "2"}}),
              ElementsAre(Pair("lora-rank", "4"), Pair("micro-batch-size", "2")));
}

}  // namespace
}  // namespace memtape::option
