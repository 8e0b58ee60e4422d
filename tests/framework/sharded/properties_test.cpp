// SPDX-License-Identifier: Apache-2.0
// What must hold of every framework that spreads a model over GPUs, whatever the sizes: shards sum
// to the whole, more ranks never need more, and what does not divide is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/dialects.h"
#include "predict/program.h"

namespace memtape {
namespace {

using testing::HasSubstr;

/// Rows that do not divide evenly by most numbers of ranks.
Config small_model() {
  return *Config::parse(R"({"model_type": "llama", "vocab_size": 1003, "hidden_size": 48,
    "intermediate_size": 130, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2})",
                        "config.json");
}

TrainRecipe recipe_of(const char* framework, std::int64_t gpus,
                      const std::string& strategy = "{}") {
  TrainRecipe recipe;
  recipe.framework = *find_framework(framework, frameworks());
  recipe.sequence_length = 64;
  recipe.precision = Precision::fp32;
  recipe.max_grad_norm.reset();
  recipe.layout.gpus = gpus;
  EXPECT_TRUE(recipe.framework->strategy(strategy, recipe).has_value());
  return recipe;
}

torch::StaticBytes statics_of(const TrainRecipe& recipe, int rank) {
  const auto run = run_program(small_model(), recipe, {}, rank);
  EXPECT_TRUE(run.has_value()) << (run ? "" : run.error().line());
  return run ? run->statics : torch::StaticBytes{};
}

Bytes static_bytes(const torch::StaticBytes& s) {
  return s.parameter_bytes + s.optimizer_state_bytes + s.gradient_bytes;
}

class ShardedTest : public testing::TestWithParam<const char*> {};

TEST_P(ShardedTest, ShardsSumToTheWhole) {
  for (const std::int64_t gpus : {1, 2, 3, 8}) {
    const TrainRecipe recipe = recipe_of(GetParam(), gpus);
    const auto classes = reported_ranks(**plan_of(small_model(), recipe), small_model());
    ASSERT_TRUE(classes.has_value());
    Bytes sum = 0;
    std::size_t ranks = 0;
    for (const torch::RankClass& alike : *classes) {
      sum += statics_of(recipe, alike.ranks.front()).parameter_bytes *
             static_cast<Bytes>(alike.ranks.size());
      ranks += alike.ranks.size();
    }
    EXPECT_EQ(ranks, static_cast<std::size_t>(gpus));
    EXPECT_EQ(sum, statics_of(recipe, 0).weight_bytes) << gpus << " GPUs";
  }
}

TEST_P(ShardedTest, MoreRanksNeverNeedMoreStaticBytes) {
  Bytes before = static_bytes(statics_of(recipe_of(GetParam(), 1), 0));
  for (const std::int64_t gpus : {2, 3, 4, 8, 16}) {
    const Bytes now = static_bytes(statics_of(recipe_of(GetParam(), gpus), 0));
    EXPECT_LE(now, before) << gpus << " GPUs";
    before = now;
  }
}

TEST_P(ShardedTest, OneRankHoldsWhatDdpHolds) {
  const torch::StaticBytes alone = statics_of(recipe_of(GetParam(), 1), 0);
  const torch::StaticBytes ddp = statics_of(recipe_of("ddp", 1), 0);
  EXPECT_EQ(alone.parameter_bytes, ddp.parameter_bytes);
  EXPECT_EQ(alone.optimizer_state_bytes, ddp.optimizer_state_bytes);
  EXPECT_EQ(alone.gradient_bytes, ddp.gradient_bytes);
}

INSTANTIATE_TEST_SUITE_P(Frameworks, ShardedTest, testing::Values("fsdp1", "fsdp2"));

TEST(Sharding, AlikeRanksMakeTheSameTape) {
  const TrainRecipe recipe = recipe_of("fsdp2", 4);
  const auto classes = reported_ranks(**plan_of(small_model(), recipe), small_model());
  ASSERT_TRUE(classes.has_value());
  for (const torch::RankClass& alike : *classes) {
    const auto first = run_program(small_model(), recipe, {}, alike.ranks.front());
    const auto last = run_program(small_model(), recipe, {}, alike.ranks.back());
    EXPECT_EQ(first->tape.requested, last->tape.requested);
  }
}

std::string zero_stage(int stage) {
  return R"({"zero_optimization": {"reduce_bucket_size": 20000, "stage": )" +
         std::to_string(stage) + "}}";
}

TEST(DeepSpeed, MoreRanksNeverNeedMoreStaticBytes) {
  for (const int stage : {0, 1, 2, 3}) {
    Bytes before = static_bytes(statics_of(recipe_of("deepspeed", 1, zero_stage(stage)), 0));
    for (const std::int64_t gpus : {2, 3, 4, 8, 16}) {
      const Bytes now =
          static_bytes(statics_of(recipe_of("deepspeed", gpus, zero_stage(stage)), 0));
      EXPECT_LE(now, before) << gpus << " GPUs, stage " << stage;
      before = now;
    }
  }
}

TEST(DeepSpeed, EachStageHoldsLessThanTheOneBefore) {
  Bytes before = static_bytes(statics_of(recipe_of("deepspeed", 4, zero_stage(1)), 0));
  for (const int stage : {2, 3}) {
    const Bytes now = static_bytes(statics_of(recipe_of("deepspeed", 4, zero_stage(stage)), 0));
    EXPECT_LE(now, before) << "stage " << stage;
    before = now;
  }
}

TEST(DeepSpeed, AlikeRanksMakeTheSameTape) {
  for (const int stage : {1, 2, 3}) {
    const TrainRecipe recipe = recipe_of("deepspeed", 8, zero_stage(stage));
    const auto classes = reported_ranks(**plan_of(small_model(), recipe), small_model());
    ASSERT_TRUE(classes.has_value());
    std::size_t ranks = 0;
    for (const torch::RankClass& alike : *classes) {
      const auto first = run_program(small_model(), recipe, {}, alike.ranks.front());
      const auto last = run_program(small_model(), recipe, {}, alike.ranks.back());
      EXPECT_EQ(first->tape.requested, last->tape.requested);
      ranks += alike.ranks.size();
    }
    EXPECT_EQ(ranks, 8U);
  }
}

TEST(Sharding, RefusesAMeshThatIsNotTheGpus) {
  const auto run = run_program(small_model(), recipe_of("fsdp2", 8, R"({"mesh": [3, 2]})"), {}, 0);
  ASSERT_FALSE(run.has_value());
  EXPECT_THAT(run.error().line(), HasSubstr("8 GPUs do not divide by 3"));
}

TEST(Sharding, NamesTheNearestOption) {
  TrainRecipe recipe = recipe_of("ddp", 2);
  const auto read = recipe.framework->strategy(R"({"static_grap": true})", recipe);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().line(), HasSubstr("did you mean static_graph?"));
}

}  // namespace
}  // namespace memtape
