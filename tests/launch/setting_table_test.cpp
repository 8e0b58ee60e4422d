// SPDX-License-Identifier: Apache-2.0
// Settings that become options and members by rows.
#include "launch/setting_table.h"

#include <array>

#include <gmock/gmock.h>

#include "launch/words.h"

namespace memtape::launch {
namespace {

using testing::ElementsAre;
using testing::Pair;

Settings settings_of(std::string_view yaml) { return *read_settings(yaml, "cfg.yaml"); }

std::vector<std::pair<std::string_view, std::string>> said(std::span<const SettingRow> rows,
                                                           std::string_view group,
                                                           Settings& settings) {
  std::vector<std::pair<std::string_view, std::string>> pairs;
  for (const SaidRow& one : said_rows(rows, group, settings))
    pairs.emplace_back(one.row->as, one.value);
  return pairs;
}

TEST(SettingTable, SaysTheRowsOfAGroup) {
  constexpr auto kRows =
      std::to_array<SettingRow>({{"batch_size", "", "micro-batch-size", RowKind::whole, "8"},
                                 {"seq_len", "", "sequence-length", RowKind::whole},
                                 {"clip", "", "max-grad-norm", RowKind::number},
                                 {"name", "", "optimizer", RowKind::text},
                                 {"rank", "lora", "lora-rank", RowKind::whole}});
  Settings settings = settings_of("seq_len: 2048\nclip: 0.5\nrank: 4\n");
  EXPECT_THAT(said(kRows, "", settings),
              ElementsAre(Pair("micro-batch-size", "8"), Pair("sequence-length", "2048"),
                          Pair("max-grad-norm", "0.5")));
  EXPECT_THAT(said(kRows, "lora", settings), ElementsAre(Pair("lora-rank", "4")));
  EXPECT_FALSE(settings.failure());
}

TEST(SettingTable, TakesTheFirstRowOfThoseThatBecomeOneThing) {
  constexpr auto kRows = std::to_array<SettingRow>(
      {{"new.degree", "", "tp", RowKind::whole}, {"old.degree", "", "tp", RowKind::whole}});
  Settings old = settings_of("old.degree: 2\n");
  EXPECT_THAT(said(kRows, "", old), ElementsAre(Pair("tp", "2")));
  Settings both = settings_of("old.degree: 2\nnew.degree: 4\n");
  EXPECT_THAT(said(kRows, "", both), ElementsAre(Pair("tp", "4")));
}

TEST(SettingTable, MakesMembersOfAnObject) {
  constexpr auto kRows = std::to_array<SettingRow>({{"a", "x", "schedule", RowKind::text},
                                                    {"b", "x", "stages", RowKind::whole},
                                                    {"c", "x", "offload", RowKind::on_alone},
                                                    {"d", "x", "early_stop", RowKind::truth},
                                                    {"e", "x", "compile", RowKind::on_alone},
                                                    {"f", "x", "targets", RowKind::names},
                                                    {"g", "x", "layers", RowKind::wholes}});
  Settings settings =
      settings_of("a: 1F1B\nb: 4\nc: false\nd: no\ne: true\nf: q_proj, v_proj\ng: [0, 1]\n");
  EXPECT_EQ(said_members(kRows, "x", settings).text(),
            R"({"schedule": "1F1B", "stages": 4, "early_stop": false, "compile": true, )"
            R"("targets": ["q_proj", "v_proj"], "layers": [0, 1]})");
}

TEST(SettingTable, KeepsTheFirstValueThatWillNotDo) {
  constexpr auto kRows =
      std::to_array<SettingRow>({{"batch_size", "", "micro-batch-size", RowKind::whole}});
  Settings settings = settings_of("batch_size: many\n");
  EXPECT_TRUE(said(kRows, "", settings).empty());
  ASSERT_TRUE(settings.failure());
  EXPECT_EQ(settings.failure()->where, "cfg.yaml:1: batch_size");
}

TEST(SettingTable, TranslatesChoices) {
  constexpr auto kRows = std::to_array<SettingRow>(
      {{"dtype", "", "precision", RowKind::choice, "bf16", "float16=fp16|float32=fp32|bf16"}});
  Settings unsaid = settings_of("other: 1\n"), float32 = settings_of("dtype: float32\n"),
           float8 = settings_of("dtype: float8\n");
  EXPECT_THAT(said(kRows, "", unsaid), ElementsAre(Pair("precision", "bf16")));
  EXPECT_THAT(said(kRows, "", float32), ElementsAre(Pair("precision", "fp32")));
  EXPECT_TRUE(said(kRows, "", float8).empty());
  EXPECT_TRUE(float8.failure());
}

TEST(SettingTable, KnowsTorchsOptimizers) {
  EXPECT_EQ(meaning_of("AdamW", data::torch_optimizers()), "adamw");
  EXPECT_EQ(meaning_of("LBFGS", data::torch_optimizers()), "");
}

}  // namespace
}  // namespace memtape::launch
