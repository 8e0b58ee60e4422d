// SPDX-License-Identifier: Apache-2.0
#include "report/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baseline.h"
#include "report/fold.h"
#include "report/largest.h"
#include "report/why.h"
#include "sample_prediction.h"

namespace memtape::report {
namespace {

using test::make_sample;
using test::Sample;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_sums(const Breakdown& e) {
  Bytes sum = 0;
  for (const Breakdown& part : e.parts) {
    sum += part.bytes;
    expect_sums(part);
  }
  EXPECT_TRUE(e.parts.empty() || sum == e.bytes) << e.label;
}

TEST(Explain, IsAsApproved) {
  const Sample sample = make_sample();
  test::expect_baseline("explain_80.txt", explain(sample.prediction, sample.trace, {.width = 80}));
  test::expect_baseline("explain_120.txt",
                        explain(sample.prediction, sample.trace, {.width = 120}));
}

TEST(Explain, EveryLevelSumsToTheNumberAboveIt) {
  for (int micro_batches : {1, 3}) {
    const Sample sample = make_sample({.layers = 5, .micro_batches = micro_batches});
    for (const Breakdown& e : breakdowns(sample.prediction, sample.trace)) expect_sums(e);
  }
}

TEST(Explain, TheTapeAccountsForEverything) {
  const Sample sample = make_sample({.layers = 5, .micro_batches = 2});
  EXPECT_THAT(explain(sample.prediction, sample.trace, {.width = 120}),
              Not(HasSubstr("not on the tape")));
}

TEST(Explain, SaysWhatTheTapeDoesNotAccountFor) {
  Sample sample = make_sample();
  sample.prediction.ranks[0].parameter_bytes += 4096;
  const auto all = breakdowns(sample.prediction, sample.trace);
  ASSERT_FALSE(all.front().parts.empty());
  EXPECT_EQ(all.front().parts.back().label, "not on the tape");
  EXPECT_EQ(all.front().parts.back().bytes, 4096);
  expect_sums(all.front());
}

TEST(Fold, LayersThatRepeatAreOneRow) {
  Tape tape;
  const ScopeId layers = tape.scopes.add(tape.scopes.add(0, "model"), "layers");
  std::vector<BlockId> blocks;
  for (const char* number : {"0", "1", "2", "5"}) {
    Why why{.op = "silu",
            .node = "MulBackward0",
            .scope = tape.scopes.add(tape.scopes.add(layers, number), "mlp"),
            .category = Category::activation,
            .phase = Phase::forward,
            .dtype = DType::bfloat16,
            .shape = {{4, 8}, 2}};
    blocks.push_back(tape.alloc(64, 0, why));
  }
  Why other = tape.why[blocks.back()];
  other.shape.dims[1] = 9;
  blocks.push_back(tape.alloc(72, 0, other));
  const BlockSizes sizes(blocks.size(), 512);
  const PathPatterns patterns(tape.scopes);
  const auto folds = fold(tape, sizes, blocks, patterns);
  ASSERT_EQ(folds.size(), 2u);
  EXPECT_EQ(folds[0].blocks.size(), 4u);
  EXPECT_EQ(folds[0].requested, 256);
  EXPECT_EQ(folds[0].allocated, 2048);
  EXPECT_EQ(patterns.text(folds[0].pattern), "model.layers.*.mlp");
  EXPECT_EQ(path_with_ranges(tape, folds[0]), "model.layers.0..2,5.mlp");
  EXPECT_EQ(folds[1].requested, 72);

  const auto rows = largest_tensors(tape, sizes, blocks, 1);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].module, "model.layers.*.mlp");
  EXPECT_EQ(rows[0].count, 4);
  EXPECT_EQ(rows[0].bytes, 2048);
  EXPECT_EQ(rows[0].why,
            "output of silu, kept for MulBackward0 until backward reaches model.layers.*.mlp");
}

TEST(Why, EveryCategoryHasASentence) {
  for (std::size_t c = 0; c < kCategories; ++c)
    for (Phase phase : {Phase::init, Phase::forward, Phase::backward, Phase::optimizer})
      for (const char* node : {"", "MmBackward0"}) {
        const Why why{.op = "mm",
                      .node = node,
                      .scope = 0,
                      .category = static_cast<Category>(c),
                      .phase = phase,
                      .dtype = DType::float32,
                      .shape = {}};
        const std::string sentence = why_sentence(why, "");
        EXPECT_FALSE(sentence.empty());
        EXPECT_NE(sentence.back(), '.');
        EXPECT_LT(sentence.size(), 100u) << sentence;
      }
}

}  // namespace
}  // namespace memtape::report
