// SPDX-License-Identifier: Apache-2.0
// Sizes of what bitsandbytes keeps (0.50): packed weights (functional.py, quantize_4bit) and states
// of optimizers (optim/optimizer.py).
#include "framework/transformers/bitsandbytes_optimizer.h"

#include <gtest/gtest.h>

#include "framework/transformers/linear_4bit.h"
#include "framework/transformers/linear_8bit.h"

namespace memtape::transformers {
namespace {

using Algorithm = BitsAndBytesOptim::Algorithm;

Tensor parameter(std::int64_t count) {
  Tensor made = ghost::empty({count}, DType::bfloat16, Category::parameter);
  made.impl().requires_grad = true;
  return made;
}

struct States {
  Bytes on_gpu = 0, managed = 0;
};

/// The states after a step over one parameter.
States states_of(std::int64_t count, const BitsAndBytesOptim& optim, bool in_32_bit = false) {
  ghost::Session session{ghost::DeviceTraits{}};
  const Tensor weight = parameter(count);
  weight.impl().grad = parameter(count).ptr();
  std::unordered_set<const ghost::TensorImpl*> overridden;
  if (in_32_bit) overridden.insert(weight.ptr().get());
  BitsAndBytesOptimizer optimizer({weight}, optim, overridden);
  optimizer.step();
  return {optimizer.state_bytes(), optimizer.managed_bytes()};
}

constexpr Bytes kMap = 256 * 4;

TEST(BitsAndBytesOptimizer, HasTwoFloatsForEachElementIn32Bits) {
  EXPECT_EQ(states_of(10'000, {}).on_gpu, 2 * 10'000 * 4);
}

TEST(BitsAndBytesOptimizer, HasTwoBytesAndMaximaIn8Bits) {
  const BitsAndBytesOptim adamw{.bits = 8};
  EXPECT_EQ(states_of(256 * 100, adamw).on_gpu, 2 * 25'600 + 2 * 100 * 4 + 2 * kMap);
  EXPECT_EQ(states_of(256 * 100 + 1, adamw).on_gpu, 2 * 25'601 + 2 * 101 * 4 + 2 * kMap)
      << "the last block need not be full";
}

/// min_8bit_size is 4096.
TEST(BitsAndBytesOptimizer, KeepsSmallAndOverriddenParametersInFloats) {
  const BitsAndBytesOptim adamw{.bits = 8};
  EXPECT_EQ(states_of(4095, adamw).on_gpu, 2 * 4095 * 4);
  EXPECT_EQ(states_of(4096, adamw).on_gpu, 2 * 4096 + 2 * 16 * 4 + 2 * kMap);
  EXPECT_EQ(states_of(25'600, adamw, true).on_gpu, 2 * 25'600 * 4) << "Trainer's embeddings";
}

TEST(BitsAndBytesOptimizer, HasOneStateOfLionAndThreeOfAdEMAMix) {
  EXPECT_EQ(states_of(25'600, {.algorithm = Algorithm::lion, .bits = 8}).on_gpu,
            25'600 + 100 * 4 + kMap);
  EXPECT_EQ(states_of(25'600, {.algorithm = Algorithm::ademamix, .bits = 8}).on_gpu,
            3 * 25'600 + 3 * 100 * 4 + 2 * kMap);
}

/// get_state_buffer: from 100,000 elements on.
TEST(BitsAndBytesOptimizer, PagesLargeStates) {
  const BitsAndBytesOptim paged{.paged = true};
  EXPECT_EQ(states_of(99'999, paged).managed, 0);
  EXPECT_EQ(states_of(100'000, paged).managed, 2 * 100'000 * 4);
  EXPECT_EQ(states_of(100'000, paged).on_gpu, 0);
}

Bytes bytes_of(const Tensor& tensor) { return tensor.defined() ? tensor.nbytes() : 0; }

TEST(Linear4Bit, TakesHalfAByteAndAMaximumForEach64) {
  ghost::Session session{ghost::DeviceTraits{}};
  Tensor map;
  const Tensor weight = ghost::empty({512, 1024}, DType::bfloat16);
  const std::int64_t count = 512 * 1024;
  const auto [packed, state] = quantize_4bit(weight, {}, map);
  EXPECT_EQ(packed.nbytes(), count / 2);
  EXPECT_EQ(bytes_of(state.absmax), count / 64 * 4);
  EXPECT_EQ(bytes_of(state.code), 16 * 4);
  const auto [in_floats, same] = quantize_4bit(weight, {.storage = DType::bfloat16}, map);
  EXPECT_EQ(in_floats.nbytes(), count / 2) << "bnb_4bit_quant_storage changes no bytes";
}

TEST(Linear4Bit, TakesAByteForEach64WhereItIsQuantizedTwice) {
  ghost::Session session{ghost::DeviceTraits{}};
  Tensor map;
  const Tensor weight = ghost::empty({512, 1024}, DType::bfloat16);
  const std::int64_t blocks = 512 * 1024 / 64;
  const auto [packed, state] = quantize_4bit(weight, {.nested = true}, map);
  EXPECT_EQ(bytes_of(state.absmax), blocks);
  EXPECT_EQ(bytes_of(state.nested_absmax), blocks / 256 * 4);
  EXPECT_EQ(bytes_of(state.offset), 4);
}

TEST(Linear8Bit, TakesAByteAndAScaleForEachRow) {
  ghost::Session session{ghost::DeviceTraits{}};
  const Int8Weight weight = quantize_8bit(ghost::empty({512, 1024}, DType::bfloat16));
  EXPECT_EQ(weight.bytes.nbytes(), 512 * 1024);
  EXPECT_EQ(weight.scales.nbytes(), 512 * 4);
}

}  // namespace
}  // namespace memtape::transformers
