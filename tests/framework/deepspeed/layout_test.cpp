// SPDX-License-Identifier: Apache-2.0
// The flat buffer of ZeRO 1 and 2: whatever the sizes, pieces of parameters add up to the
// parameters, and partitions to the buffer.
#include "framework/deepspeed/flat_layout.h"

#include <gtest/gtest.h>

namespace memtape::deepspeed {
namespace {

const std::vector<std::int64_t> kSizes{1003 * 48, 48, 48 * 48, 1, 7, 130 * 48, 48};

struct Cut {
  std::int64_t partitions, alignment;
};

class FlatLayoutTest : public testing::TestWithParam<Cut> {};

TEST_P(FlatLayoutTest, PiecesAddUpToParameters) {
  const FlatLayout layout(kSizes, GetParam().partitions, GetParam().alignment);
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    std::int64_t end = 0;
    for (const Piece& piece : layout.pieces(i)) {
      EXPECT_EQ(piece.in_parameter, end);
      EXPECT_LE(piece.in_partition + piece.elements, layout.partition_size());
      end += piece.elements;
    }
    EXPECT_EQ(end, kSizes[i]);
  }
}

TEST_P(FlatLayoutTest, APieceIsFoundByItsPartition) {
  const FlatLayout layout(kSizes, GetParam().partitions, GetParam().alignment);
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    std::int64_t held = 0;
    for (std::int64_t partition = 0; partition < GetParam().partitions; ++partition)
      if (const auto piece = layout.piece(i, partition)) held += piece->elements;
    EXPECT_EQ(held, kSizes[i]);
  }
}

TEST_P(FlatLayoutTest, ParametersBeginAligned) {
  const FlatLayout layout(kSizes, GetParam().partitions, GetParam().alignment);
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    EXPECT_EQ(layout.start(i) % GetParam().alignment, 0);
  EXPECT_EQ(layout.numel() % (2 * GetParam().partitions), 0);
}

INSTANTIATE_TEST_SUITE_P(Cuts, FlatLayoutTest,
                         testing::Values(Cut{1, 1}, Cut{2, 1}, Cut{3, 1}, Cut{8, 1}, Cut{64, 1},
                                         Cut{3, 8}, Cut{16, 8}));

TEST(FlatLayout, APartitionMayLieBehindTheLastParameter) {
  const FlatLayout layout({3}, 4, 1);
  EXPECT_EQ(layout.partition_size(), 2);
  EXPECT_TRUE(layout.piece(0, 1).has_value());
  EXPECT_FALSE(layout.piece(0, 2).has_value());
}

}  // namespace
}  // namespace memtape::deepspeed
