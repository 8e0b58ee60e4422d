// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <array>

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(DType, EveryNameLeadsBackToItsDtype) {
  for (int i = 0; i <= static_cast<int>(DType::int4); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype) << name(dtype);
  }
}

TEST(DType, TheThreeSpellingsMeanTheSame) {
  for (const char* spelling : {"bfloat16", "torch.bfloat16", "bf16", "BF16"})
    EXPECT_EQ(dtype_from_name(spelling), DType::bfloat16) << spelling;
}

TEST(DType, UnknownNamesAreNothing) {
  for (const char* spelling : {"", "torch.", "float", "bf-16", "int128"})
    EXPECT_EQ(dtype_from_name(spelling), std::nullopt) << spelling;
}

TEST(DType, BytesFillUpTheLastByte) {
  EXPECT_EQ(bytes_of(DType::float32, 3), 12);
  EXPECT_EQ(bytes_of(DType::int4, 3), 2);
  EXPECT_EQ(bytes_of(DType::boolean, 0), 0);
}

TEST(DType, OnlyFloatsAreFloatingPoint) {
  EXPECT_TRUE(is_floating_point(DType::float8_e5m2));
  EXPECT_FALSE(is_floating_point(DType::int64));
  EXPECT_FALSE(is_floating_point(DType::boolean));
}

}  // namespace
}  // namespace memtape
