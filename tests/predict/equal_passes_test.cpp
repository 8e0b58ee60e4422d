// SPDX-License-Identifier: Apache-2.0
// generate() leaves the same tape whether equal layers are written down or run, for every family
// and what changes what its layers hold from pass to pass.
#include <gtest/gtest.h>

#include "equal_tapes.h"
#include "framework/transformers/generate.h"
#include "small_models.h"

namespace memtape {
namespace {

using torch::EqualLayerRuns;
using transformers::GenerateRecipe;

class EqualPassesTest : public testing::TestWithParam<SmallModel> {};

void expect_equal(GenerateRecipe recipe) {
  const SmallModel& model = EqualPassesTest::GetParam();
  recipe.prompt_length = 60;
  recipe.max_new_tokens = 12;
  const Config config = model.config().with_integer(model.layers_key, 13);
  const auto run = run_generate(config, recipe, {}, EqualLayerRuns::all_run);
  if (!run) GTEST_SKIP() << run.error().line();
  const auto written = run_generate(config, recipe, {}, EqualLayerRuns::written_down);
  ASSERT_TRUE(written.has_value()) << written.error().line();
  if (written->layers_differ) GTEST_SKIP() << model.name << ": found out that its layers differ";
  expect_same(run->tape, written->tape);
}

TEST_P(EqualPassesTest, LeaveTheSameTape) { expect_equal({.batch_size = 3}); }

TEST_P(EqualPassesTest, LeaveTheSameTapeWithAStaticCache) {
  expect_equal({.attention = AttentionChoice::eager, .cache = family::CacheKind::fixed});
}

TEST_P(EqualPassesTest, LeaveTheSameTapeOfBeamsInChunks) {
  expect_equal({.dtype = DType::float32, .prefill_chunk_size = 25, .num_beams = 2});
}

TEST_P(EqualPassesTest, LeaveTheSameTapeWithCandidates) {
  expect_equal({.prompt_lookup_num_tokens = 3});
}

TEST_P(EqualPassesTest, LeaveTheSameTapeWithAQuantizedCache) {
  expect_equal({.cache = family::CacheKind::quantized,
                .quantized = {.q_group_size = 4, .residual_length = 5}});
}

INSTANTIATE_TEST_SUITE_P(Families, EqualPassesTest, testing::ValuesIn(small_models()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memtape
