// SPDX-License-Identifier: Apache-2.0
// What must hold of a pipeline whatever its schedule: stages sum to the model, all that a step
// takes for its micro-batches beyond its buffers is given back, and bad layouts are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/dialects.h"
#include "predict/program.h"

namespace memtape {
namespace {

using testing::HasSubstr;

Config small_model() {
  return *Config::parse(R"({"model_type": "llama", "vocab_size": 1003, "hidden_size": 48,
    "intermediate_size": 130, "num_hidden_layers": 8, "num_attention_heads": 4,
    "num_key_value_heads": 2})",
                        "config.json");
}

TrainRecipe recipe_of(std::int64_t gpus, const std::string& strategy) {
  TrainRecipe recipe;
  recipe.framework = *find_framework("torch-pp", frameworks());
  recipe.sequence_length = 64;
  recipe.max_grad_norm.reset();
  recipe.layout.gpus = gpus;
  EXPECT_TRUE(recipe.framework->strategy(strategy, recipe).has_value());
  return recipe;
}

std::string strategy_of(const std::string& schedule) {
  const bool single = schedule == "GPipe" || schedule == "1F1B";
  return R"({"schedule": ")" + schedule + R"(", "stages_per_rank": )" + (single ? "1" : "2") +
         R"(, "microbatches": 8})";
}

std::string refusal(const TrainRecipe& recipe) {
  const auto run = run_program(small_model(), recipe, {}, 0);
  return run ? "" : run.error().line();
}

/// Bytes alive at the end of each step.
std::vector<Bytes> levels_after_steps(const Tape& tape) {
  std::vector<Bytes> levels;
  Bytes alive = 0;
  int step = -1;
  for (const Event& event : tape.events) {
    if (event.kind == EventKind::alloc) alive += tape.requested[event.block];
    if (event.kind == EventKind::free) alive -= tape.requested[event.block];
    if (event.kind == EventKind::mark && tape.marks[event.block].step > step) {
      levels.push_back(alive);
      step = tape.marks[event.block].step;
    }
  }
  levels.push_back(alive);
  return levels;
}

class PipelineTest : public testing::TestWithParam<const char*> {};

TEST_P(PipelineTest, StagesSumToTheModel) {
  for (const std::int64_t gpus : {1, 2, 4}) {
    const TrainRecipe recipe = recipe_of(gpus, strategy_of(GetParam()));
    Bytes sum = 0, whole = 0;
    for (int rank = 0; rank < gpus; ++rank) {
      const auto run = run_program(small_model(), recipe, {}, rank);
      ASSERT_TRUE(run.has_value()) << run.error().line();
      sum += run->statics.parameter_bytes;
      whole = run->statics.weight_bytes;
      EXPECT_EQ(run->statics.gradient_bytes, run->statics.parameter_bytes);
    }
    EXPECT_EQ(sum, whole) << gpus << " GPUs";
  }
}

TEST_P(PipelineTest, StepsComeBackToTheirLevel) {
  for (int rank = 0; rank < 4; ++rank) {
    const auto run = run_program(small_model(), recipe_of(4, strategy_of(GetParam())), {}, rank);
    ASSERT_TRUE(run.has_value()) << run.error().line();
    const std::vector<Bytes> levels = levels_after_steps(run->tape);
    ASSERT_EQ(levels.size(), 4U);
    EXPECT_EQ(levels[2], levels[1]) << "rank " << rank;
    EXPECT_EQ(levels[3], levels[2]) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, PipelineTest,
                         testing::Values("GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS",
                                         "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"));

TEST(PipelineOptions, RefuseWhatDoesNotFit) {
  EXPECT_THAT(refusal(recipe_of(3, R"({"microbatches": 3})")), HasSubstr("8 layers"));
  EXPECT_THAT(refusal(recipe_of(4, R"({"microbatches": 2})")), HasSubstr("4 or more"));
  EXPECT_THAT(refusal(recipe_of(2, R"({"schedule": "Interleaved1F1", "microbatches": 2})")),
              HasSubstr("Interleaved1F1B"));
  EXPECT_THAT(refusal(recipe_of(2, R"({"schedule": "ZBVZeroBubble", "stages_per_rank": 1})")),
              HasSubstr("two stages"));
  EXPECT_THAT(refusal(recipe_of(3, R"({"layers": [3, 3, 3]})")), HasSubstr("add up to 8"));
  EXPECT_EQ(refusal(recipe_of(3, R"({"layers": [3, 3, 2]})")), "");
}

}  // namespace
}  // namespace memtape
