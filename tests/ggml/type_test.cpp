// SPDX-License-Identifier: Apache-2.0
// Sizes of blocks as the structs of ggml-common.h have them, and what a CUDA buffer adds to them.
#include "ggml/type.h"

#include <gtest/gtest.h>

#include "ggml/cuda_backend.h"
#include "ggml/graph.h"

namespace memtape::ggml {
namespace {

/// A struct of ggml-common.h is the sum of its members: halves, scales, and the quants of a block.
TEST(Types, HaveTheBlocksOfGgmlCommon) {
  constexpr std::int64_t kK = 256, kHalf = 2, kScales = 12;
  EXPECT_EQ(block_bytes(Type::q4_0), kHalf + 32 / 2);
  EXPECT_EQ(block_bytes(Type::q5_1), 2 * kHalf + 4 + 32 / 2);
  EXPECT_EQ(block_bytes(Type::q8_0), kHalf + 32);
  EXPECT_EQ(block_bytes(Type::q2_k), 2 * kHalf + kK / 16 + kK / 4);
  EXPECT_EQ(block_bytes(Type::q3_k), kHalf + kK / 4 + kK / 8 + kScales);
  EXPECT_EQ(block_bytes(Type::q4_k), 2 * kHalf + kScales + kK / 2);
  EXPECT_EQ(block_bytes(Type::q5_k), 2 * kHalf + kScales + kK / 2 + kK / 8);
  EXPECT_EQ(block_bytes(Type::q6_k), kHalf + kK / 16 + 3 * kK / 4);
  EXPECT_EQ(block_bytes(Type::q8_k), 4 + kK + 2 * kK / 16);
  EXPECT_EQ(block_bytes(Type::iq1_m), kK / 8 + kK / 16 + kK / 32);
  EXPECT_EQ(block_bytes(Type::iq4_xs), kHalf + 2 + kK / 64 + kK / 2);
  EXPECT_EQ(block_bytes(Type::tq1_0), kHalf + kK / 64 + (kK - 4 * kK / 64) / 5);
  EXPECT_EQ(block_bytes(Type::mxfp4), 1 + 32 / 2);
}

TEST(Types, AreFoundByNumberAndName) {
  int found = 0;
  for (std::int64_t number = -1; number < 300; ++number)
    if (const auto type = type_from_number(number)) {
      ++found;
      EXPECT_EQ(static_cast<std::int64_t>(*type), number);
      EXPECT_EQ(type_from_name(traits(*type).name), type);
    }
  EXPECT_EQ(found, 35);
  for (const int removed : {4, 5, 31, 32, 33, 36, 37, 38})
    EXPECT_FALSE(type_from_number(removed)) << removed;
  EXPECT_EQ(type_from_name("Q4_K"), Type::q4_k);
  EXPECT_FALSE(type_from_name("q4_K_M")) << "a mix of a file, not a type of a tensor";
}

TEST(Tensors, SpanTheirStrides) {
  Graph graph;
  Tensor* matrix = graph.tensor(Type::f32, {8, 4, 1, 1});
  EXPECT_EQ(bytes_of(*matrix), 8 * 4 * 4);
  const Tensor* turned = graph.transpose(matrix);
  EXPECT_EQ(bytes_of(*turned), bytes_of(*matrix));
  EXPECT_FALSE(is_contiguous(*turned));
  EXPECT_EQ(bytes_of(*graph.view_2d(matrix, {2, 3, 1, 1}, 8 * 4, 0)), 2 * 8 * 4 + 2 * 4)
      << "two whole rows and the beginning of a third";
  EXPECT_EQ(bytes_of(*graph.tensor(Type::q4_k, {512, 3, 1, 1})), 2 * 144 * 3);
}

/// ggml_backend_cuda_buffer_type_get_alloc_size: MATRIX_ROW_PADDING is 512.
TEST(CudaBuffers, PadTheLastRowOfQuantizedTensors) {
  const CudaBufferType cuda(CudaDevice{});
  Graph graph;
  const auto added = [&](Type type, std::int64_t columns) {
    const Tensor* tensor = graph.tensor(type, {columns, 7, 1, 1});
    return cuda.alloc_size(*tensor) - bytes_of(*tensor);
  };
  EXPECT_EQ(added(Type::q4_0, 4096), 0);
  EXPECT_EQ(added(Type::q4_0, 3200), row_size(Type::q4_0, 384)) << "3200 = 6 x 512 + 128";
  EXPECT_EQ(added(Type::q6_k, 256), row_size(Type::q6_k, 256));
  EXPECT_EQ(added(Type::f16, 3200), 0);
}

}  // namespace
}  // namespace memtape::ggml
