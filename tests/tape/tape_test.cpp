// SPDX-License-Identifier: Apache-2.0
#include "tape/tape.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(ScopeTree, PathsJoinNamesFromTheRoot) {
  ScopeTree scopes;
  const ScopeId model = scopes.add(0, "model");
  const ScopeId layer = scopes.add(model, "layers.3");
  const ScopeId mlp = scopes.add(layer, "mlp");
  EXPECT_EQ(scopes.path(0), "");
  EXPECT_EQ(scopes.path(model), "model");
  EXPECT_EQ(scopes.path(mlp), "model.layers.3.mlp");
  EXPECT_EQ(scopes.parent(mlp), layer);
}

TEST(Tape, BlockIdsCountUpAndAreNotReused) {
  Tape tape;
  const BlockId first = tape.alloc(100, 0, {});
  tape.free(first);
  const BlockId second = tape.alloc(200, 1, {});
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, 1u);
  EXPECT_EQ(tape.requested, (std::vector<Bytes>{100, 200}));
  ASSERT_EQ(tape.events.size(), 3u);
  EXPECT_EQ(tape.events[1].kind, EventKind::free);
  EXPECT_EQ(tape.events[2].stream, 1);
}

TEST(Tape, AMarkEventPointsAtItsMark) {
  Tape tape;
  tape.mark({Phase::forward, 0, 0});
  tape.mark({Phase::backward, 0, 1});
  ASSERT_EQ(tape.events.size(), 2u);
  EXPECT_EQ(tape.events[1].kind, EventKind::mark);
  EXPECT_EQ(tape.marks[tape.events[1].block].micro_batch, 1);
}

TEST(CategoryBytes, TotalIsTheSumOfEveryCategory) {
  CategoryBytes bytes;
  for (std::size_t i = 0; i < kCategories; ++i) bytes[static_cast<Category>(i)] = Bytes{1} << i;
  EXPECT_EQ(bytes.total(), (Bytes{1} << kCategories) - 1);
}

}  // namespace
}  // namespace memtape
