// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/redistribute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/torch_tp/plan.h"
#include "ghost/session.h"

namespace memtape::torch_tp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The blocks a change takes, by size.
std::vector<Bytes> blocks_of(const Dims& local, const Redistribution& change) {
  ghost::Session session({});
  const Tensor tensor = ghost::empty(local, DType::bfloat16);
  const std::size_t before = session.tape.requested.size();
  const Tensor moved = redistribute_local(tensor, change);
  return {session.tape.requested.begin() + static_cast<std::ptrdiff_t>(before),
          session.tape.requested.end()};
}

constexpr Mesh kFour{.size = 4, .rank = 1};

TEST(Redistribute, GathersRowsStraightIntoPlace) {
  EXPECT_THAT(blocks_of({2, 8}, {.mesh = kFour, .from = shard_of(0), .to = kReplicate, .whole = 8}),
              ElementsAre(2 * 8 * 8));
}

TEST(Redistribute, PutsColumnsTogetherInACopy) {
  EXPECT_THAT(
      blocks_of({2, 8}, {.mesh = kFour, .from = shard_of(-1), .to = kReplicate, .whole = 32}),
      ElementsAre(2 * 2 * 32, 2 * 2 * 32));
}

TEST(Redistribute, PadsUnevenPieces) {
  EXPECT_THAT(
      blocks_of({2, 6}, {.mesh = {4, 3}, .from = shard_of(-1), .to = kReplicate, .whole = 30}),
      ElementsAre(2 * 2 * 8, 2 * 2 * 32, 2 * 2 * 32));
}

TEST(Redistribute, ReducesAlongTheSequenceThroughACopy) {
  EXPECT_THAT(blocks_of({1, 8, 16}, {.mesh = kFour, .from = kPartial, .to = shard_of(1)}),
              ElementsAre(2 * 8 * 16, 2 * 2 * 16));
}

TEST(Redistribute, ReducesACloneWhereAllWantIt) {
  EXPECT_THAT(blocks_of({8, 16}, {.mesh = kFour, .from = kPartial, .to = kReplicate}),
              ElementsAre(2 * 8 * 16));
}

TEST(Redistribute, TakesNothingAlone) {
  EXPECT_THAT(blocks_of({8, 16}, {.mesh = {}, .from = kPartial, .to = kReplicate}), IsEmpty());
}

TEST(Plan, FindsModulesOfEveryLayer) {
  const Plan plan = colrow_plan(true, true);
  EXPECT_NE(planned_for(plan, "model.layers.12.mlp.down_proj"), nullptr);
  EXPECT_EQ(planned_for(plan, "model.layers.x.mlp.down_proj"), nullptr);
  EXPECT_EQ(planned_for(plan, "model.layers.12.mlp"), planned_for(plan, "model.layers.3.mlp"));
}

TEST(Plan, HasNoneForExperts) {
  EXPECT_FALSE(hf_plan(*Config::parse(R"({"model_type": "mixtral"})", "config.json")).has_value());
}

}  // namespace
}  // namespace memtape::torch_tp
