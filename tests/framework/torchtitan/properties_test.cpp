// SPDX-License-Identifier: Apache-2.0
// What must hold of torchtitan's programs, whatever the sizes: shards sum to the whole, what is
// checkpointed more needs less, compiled blocks keep no more than eager ones.
#include <gtest/gtest.h>

#include "framework/dialects.h"
#include "predict/program.h"
#include "predict/train.h"

namespace memtape {
namespace {

/// A vocabulary and a width that not every number of GPUs divides.
Config small_model() {
  return *Config::parse(R"({"model_type": "llama", "vocab_size": 1003, "hidden_size": 320,
    "intermediate_size": 896, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 2})",
                        "config.json");
}

TrainRecipe recipe_of(std::int64_t gpus, const std::string& strategy = "{}") {
  TrainRecipe recipe;
  recipe.framework = *find_framework("torchtitan", frameworks());
  recipe.sequence_length = 512;
  recipe.layout.gpus = gpus;
  EXPECT_TRUE(recipe.framework->strategy(strategy, recipe).has_value());
  return resolved(recipe, small_model()).value();
}

Bytes peak_of(const TrainRecipe& recipe) {
  const Config config = small_model();
  const auto answer = predict_train({.id = "small", .config = config}, recipe, {});
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().line());
  return answer ? answer->prediction.ranks.front().peak.requested : 0;
}

TEST(Torchtitan, ShardsSumToTheWhole) {
  for (const std::int64_t gpus : {2, 3, 8}) {
    const TrainRecipe recipe = recipe_of(gpus);
    const auto classes = reported_ranks(**plan_of(small_model(), recipe), small_model());
    ASSERT_TRUE(classes.has_value());
    Bytes sum = 0, whole = 0;
    std::size_t ranks = 0;
    for (const torch::RankClass& alike : *classes) {
      const auto run = run_program(small_model(), recipe, {}, alike.ranks.front());
      ASSERT_TRUE(run.has_value());
      sum += run->statics.parameter_bytes * static_cast<Bytes>(alike.ranks.size());
      whole = run->statics.weight_bytes;
      ranks += alike.ranks.size();
    }
    EXPECT_EQ(sum, whole) << gpus << " GPUs";
    EXPECT_EQ(ranks, static_cast<std::size_t>(gpus));
  }
}

TEST(Torchtitan, CheckpointingMoreNeedsLess) {
  for (const char* strategy : {"{}", R"({"compile": true})"}) {
    TrainRecipe recipe = recipe_of(2, strategy);
    recipe.micro_batch_size = 8;
    const Bytes none = peak_of(recipe);
    recipe.checkpointing = Checkpointing::selective;
    const Bytes ops = peak_of(recipe);
    recipe.checkpointing = Checkpointing::full;
    const Bytes full = peak_of(recipe);
    EXPECT_GT(none, ops) << strategy;
    EXPECT_GT(ops, full) << strategy;
  }
}

TEST(Torchtitan, CompiledBlocksKeepNoMore) {
  for (const Checkpointing kind : {Checkpointing::none, Checkpointing::selective}) {
    TrainRecipe eager = recipe_of(2), compiled = recipe_of(2, R"({"compile": true})");
    eager.checkpointing = compiled.checkpointing = kind;
    EXPECT_LT(peak_of(compiled), peak_of(eager));
  }
}

TEST(Torchtitan, CheckpointingEverySecondLayerLiesBetween) {
  TrainRecipe every = recipe_of(2, R"({"selective_ac_option": "2"})");
  every.checkpointing = Checkpointing::selective;
  every.micro_batch_size = 8;
  TrainRecipe full = recipe_of(2), none = recipe_of(2);
  full.checkpointing = Checkpointing::full;
  full.micro_batch_size = none.micro_batch_size = 8;
  EXPECT_LT(peak_of(full), peak_of(every));
  EXPECT_LT(peak_of(every), peak_of(none));
}

}  // namespace
}  // namespace memtape
