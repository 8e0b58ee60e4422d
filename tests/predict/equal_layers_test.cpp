// SPDX-License-Identifier: Apache-2.0
// Writing equal layers down instead of running them leaves the tape as it is, event for event and
// reason for reason, for every family and what changes what a layer keeps.
#include <gtest/gtest.h>

#include "equal_tapes.h"
#include "framework/torch/train_loop.h"
#include "small_models.h"

namespace memtape {
namespace {

using torch::EqualLayerRuns;

class EqualLayersTest : public testing::TestWithParam<SmallModel> {};

void expect_equal(TrainRecipe recipe) {
  const SmallModel& model = EqualLayersTest::GetParam();
  recipe.task = model.task;
  recipe.micro_batch_size = 2;
  recipe.sequence_length = 64;
  const Config config = model.config().with_integer(model.layers_key, 13);
  const auto run = torch::run_training(config, recipe, {}, EqualLayerRuns::all_run);
  if (!run) GTEST_SKIP() << run.error().line();
  const auto written = torch::run_training(config, recipe, {}, EqualLayerRuns::written_down);
  ASSERT_TRUE(written.has_value()) << written.error().line();
  if (written->layers_differ) GTEST_SKIP() << model.name << ": found out that its layers differ";
  EXPECT_EQ(run->statics.gradient_bytes, written->statics.gradient_bytes);
  expect_same(run->tape, written->tape);
}

TEST_P(EqualLayersTest, LeaveTheSameTape) { expect_equal({}); }

TEST_P(EqualLayersTest, LeaveTheSameTapeUnderAutocast) {
  TrainRecipe recipe;
  recipe.precision = Precision::amp_bf16;
  recipe.gradient_accumulation = 2;
  expect_equal(recipe);
}

TEST_P(EqualLayersTest, LeaveTheSameTapeWithCheckpointing) {
  TrainRecipe recipe;
  recipe.checkpointing = Checkpointing::full;
  expect_equal(recipe);
}

TEST_P(EqualLayersTest, LeaveTheSameTapeWithReentrantCheckpointing) {
  TrainRecipe recipe;
  recipe.checkpointing = Checkpointing::full_reentrant;
  recipe.precision = Precision::amp_fp16;
  recipe.optimizer_impl = OptimizerImpl::fused;
  expect_equal(recipe);
}

TEST_P(EqualLayersTest, LeaveTheSameTapeWithEagerAttention) {
  TrainRecipe recipe;
  recipe.attention = AttentionChoice::eager;
  expect_equal(recipe);
}

INSTANTIATE_TEST_SUITE_P(Families, EqualLayersTest, testing::ValuesIn(small_models()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memtape
