// SPDX-License-Identifier: Apache-2.0
// The summary of a step equals the exact step to the byte on an allocator without rounding, for
// every family.
#include "predict/step_summary.h"

#include <gtest/gtest.h>

#include "framework/torch/train_loop.h"
#include "predict/step_play.h"
#include "small_models.h"
#include "timeline/play.h"

namespace memtape {
namespace {

/// Peak of the requested bytes over the measured step, by playing the whole tape.
Bytes exact_peak(const Config& config, const TrainRecipe& recipe) {
  const Result<torch::TrainRun> run = torch::run_training(config, recipe, {});
  EXPECT_TRUE(run.has_value()) << run.error().line();
  IdealAllocator allocator;
  const std::size_t first = first_event_of_step(run->tape, torch::kSteps - 1);
  play(run->tape, allocator, {.to = first});
  Bytes peak = 0;
  for (const Window& window : play(run->tape, allocator, {.from = first}).windows)
    peak = std::max(peak, window.peak.requested);
  return peak;
}

class StepSummaryTest : public testing::TestWithParam<SmallModel> {};

void expect_equal(const SmallModel& model, TrainRecipe recipe) {
  recipe.task = model.task;
  const Config config = model.config();
  const auto summary = summarize_step(config, recipe, {});
  if (!summary && summary.error().kind == ErrorKind::unsupported)
    GTEST_SKIP() << summary.error().line();
  ASSERT_TRUE(summary.has_value()) << summary.error().line();
  if (!summary->has_value()) GTEST_SKIP() << model.name << " has layers that differ";
  for (const std::int64_t layers : {3, 4, 7, 8}) {
    const Config large = config.with_integer(model.layers_key, layers);
    EXPECT_EQ((*summary)->peak_requested(layers), exact_peak(large, recipe))
        << model.name << ", " << layers << " layers";
  }
}

TrainRecipe small_recipe() {
  TrainRecipe recipe;
  recipe.micro_batch_size = 2;
  recipe.sequence_length = 64;
  return recipe;
}

TEST_P(StepSummaryTest, EqualsExactStep) { expect_equal(GetParam(), small_recipe()); }

TEST_P(StepSummaryTest, EqualsExactStepWithCheckpointing) {
  TrainRecipe recipe = small_recipe();
  recipe.checkpointing = Checkpointing::full;
  recipe.optimizer_impl = OptimizerImpl::fused;
  expect_equal(GetParam(), recipe);
}

TEST_P(StepSummaryTest, EqualsExactStepUnderAutocastWithAccumulation) {
  TrainRecipe recipe = small_recipe();
  recipe.precision = Precision::amp_bf16;
  recipe.gradient_accumulation = 2;
  recipe.optimizer = OptimizerName::sgd_momentum;
  expect_equal(GetParam(), recipe);
}

TEST(StepSummary, OfModelsWithEqualLayersExists) {
  for (const SmallModel& model : small_models()) {
    if (model.name != "llama" && model.name != "qwen3" && model.name != "gpt2" &&
        model.name != "gpt_neox")
      continue;
    const auto summary = summarize_step(model.config(), small_recipe(), {});
    EXPECT_TRUE(summary && *summary) << model.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, StepSummaryTest, testing::ValuesIn(small_models()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memtape
