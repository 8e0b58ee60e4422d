// SPDX-License-Identifier: Apache-2.0
// What must hold of tensor and context parallel programs, whatever the sizes: pieces sum to the
// whole, one GPU holds what DDP holds, more GPUs never hold more.
#include <gtest/gtest.h>

#include "framework/dialects.h"
#include "predict/program.h"

namespace memtape {
namespace {

constexpr std::int64_t kHidden = 64, kNorms = 2 * 3 + 1;

/// A vocabulary that no number of GPUs divides.
Config small_model() {
  return *Config::parse(R"({"model_type": "llama", "vocab_size": 1003, "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 8,
    "num_key_value_heads": 8})",
                        "config.json");
}

TrainRecipe recipe_of(const char* framework, std::int64_t gpus,
                      const std::string& strategy = "{}") {
  TrainRecipe recipe;
  recipe.framework = *find_framework(framework, frameworks());
  recipe.sequence_length = 64;
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

/// Bytes of the parameters of all ranks.
Bytes parameters_of_all(const TrainRecipe& recipe) {
  const auto classes = reported_ranks(**plan_of(small_model(), recipe), small_model());
  EXPECT_TRUE(classes.has_value()) << (classes ? "" : classes.error().line());
  Bytes sum = 0;
  for (const torch::RankClass& alike : *classes)
    sum += statics_of(recipe, alike.ranks.front()).parameter_bytes *
           static_cast<Bytes>(alike.ranks.size());
  return sum;
}

class TensorParallelTest : public testing::TestWithParam<const char*> {};

TEST_P(TensorParallelTest, PiecesSumToTheWholeButForTheNorms) {
  for (const std::int64_t gpus : {1, 2, 4, 8}) {
    const TrainRecipe recipe = recipe_of("torch-tp", gpus, GetParam());
    const Bytes replicated = 2 * kNorms * kHidden * (gpus - 1);
    EXPECT_EQ(parameters_of_all(recipe) - replicated, statics_of(recipe, 0).weight_bytes)
        << gpus << " GPUs";
  }
}

TEST_P(TensorParallelTest, OneGpuHoldsWhatDdpHolds) {
  const torch::StaticBytes alone = statics_of(recipe_of("torch-tp", 1, GetParam()), 0);
  const torch::StaticBytes ddp = statics_of(recipe_of("ddp", 1), 0);
  EXPECT_EQ(alone.parameter_bytes, ddp.parameter_bytes);
  EXPECT_EQ(alone.optimizer_state_bytes, ddp.optimizer_state_bytes);
}

TEST_P(TensorParallelTest, MoreGpusNeverHoldMore) {
  Bytes before = statics_of(recipe_of("torch-tp", 1, GetParam()), 0).parameter_bytes;
  for (const std::int64_t gpus : {2, 4, 8}) {
    const Bytes now = statics_of(recipe_of("torch-tp", gpus, GetParam()), 0).parameter_bytes;
    EXPECT_LT(now, before) << gpus << " GPUs";
    before = now;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, TensorParallelTest,
                         testing::Values(R"({"plan": "colrow"})",
                                         R"({"plan": "colrow", "sequence_parallel": true})",
                                         R"({"sequence_parallel": true, "loss_parallel": true})"));

TEST(TensorParallel, PiecesOfPiecesSumToTheWhole) {
  const TrainRecipe recipe = recipe_of("torch-tp", 8, R"({"size": 2, "fsdp2": {}})");
  EXPECT_EQ(parameters_of_all(recipe) - 2 * kNorms * kHidden, statics_of(recipe, 0).weight_bytes);
}

TEST(ContextParallel, EveryGpuHoldsTheModelUnlessItIsSharded) {
  const torch::StaticBytes whole = statics_of(recipe_of("torch-cp", 4), 3);
  EXPECT_EQ(whole.parameter_bytes, whole.weight_bytes);
  const TrainRecipe sharded = recipe_of("torch-cp", 4, R"({"fsdp2": {}})");
  EXPECT_LT(statics_of(sharded, 0).parameter_bytes, whole.parameter_bytes);
}

}  // namespace
}  // namespace memtape
