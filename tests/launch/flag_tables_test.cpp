// SPDX-License-Identifier: Apache-2.0
// The flags of serving programs beside those of the engines that `memtape serve` knows.
#include "launch/flag_tables.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "framework/llamacpp/serve.h"
#include "framework/sglang/serve.h"
#include "framework/vllm/serve.h"

namespace memtape::launch {
namespace {

/// What translations take out of a command themselves, in the place of an option of the engine.
constexpr auto kTakenByTranslations = std::to_array<std::string_view>(
    {"model", "hf-repo", "hf-file", "load-mode", "fit", "kv-unified-per-slot", "cuda-graph-bs",
     "mamba-ssm-cache-dtype"});

void expect_meanings(const ServeEngine& engine, std::span<const Flag> flags) {
  for (const Flag& flag : as_served_by(engine, flags)) {
    if (flag.effect != Effect::modelled) continue;
    const bool is_taken =
        std::ranges::find(kTakenByTranslations, flag.meaning) != kTakenByTranslations.end();
    const std::string spelling = "--" + std::string(flag.meaning);
    EXPECT_TRUE(is_taken || find_flag(engine.flags, spelling))
        << engine.name << " " << flag.name << " means \"" << flag.meaning << '"';
  }
}

TEST(FlagTables, SayWhatAllModelledFlagsMean) {
  expect_meanings(vllm::kEngine, data::vllm_flags().flags);
  expect_meanings(sglang::kEngine, data::sglang_flags().flags);
  expect_meanings(llamacpp::kEngine, data::llamacpp_flags().flags);
}

TEST(FlagTables, TakeMeaningsFromTheEngine) {
  const std::vector<Flag> flags = as_served_by(vllm::kEngine, data::vllm_flags().flags);
  const auto tp = std::ranges::find(flags, "-tp", &Flag::name);
  ASSERT_NE(tp, flags.end());
  EXPECT_EQ(tp->meaning, "tensor-parallel-size");
  EXPECT_EQ(tp->arity, Arity::one);
}

TEST(FlagTables, NameTheFlagOfEachVariable) {
  const FlagTable table = data::llamacpp_flags();
  for (const VariableOfFlag& row : table.variables)
    EXPECT_NE(std::ranges::find(table.flags, row.flag, &Flag::name), table.flags.end())
        << row.variable;
}

}  // namespace
}  // namespace memtape::launch
