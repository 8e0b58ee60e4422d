// SPDX-License-Identifier: Apache-2.0
// Bounds ask what role a block has, never what the op that made it is called.
#include <gtest/gtest.h>

#include "mesh/gpu_catalog.h"
#include "predict/bounds.h"

namespace memtape {
namespace {

constexpr Bytes kMiB = 1 << 20;

/// A convolution's result under a larger block, and what flash attention's backward makes.
Tape tape_with(const char* convolution, const char* attention, const char* other) {
  Tape tape;
  const BlockId result =
      tape.alloc(6 * kMiB, 0, {.op = convolution, .role = Role::convolution, .shape = {}});
  const BlockId gradient =
      tape.alloc(4 * kMiB, 0, {.op = attention, .role = Role::flash_backward, .shape = {}});
  const BlockId plain = tape.alloc(1 * kMiB, 0, {.op = other, .shape = {}});
  for (const BlockId block : {plain, gradient, result}) tape.free(block);
  return tape;
}

Bounds bounds_with(const char* convolution, const char* attention, const char* other) {
  DeviceSetup device;
  device.gpu = *find_gpu("h100-80gb");  // where torch may prefer cuDNN's attention
  RankReport rank;
  rank.peak_device_bytes = 11 * kMiB;
  rank.peak.reserved = 11 * kMiB;
  torch::TrainRun run;
  run.tape = tape_with(convolution, attention, other);
  return bounds_of(run, device, rank);
}

TEST(Roles, DecideWhateverTheOpsAreCalled) {
  const Bounds bounds = bounds_with("cudnn_convolution", "_flash_attention_backward", "add");
  const Bounds renamed = bounds_with("add", "dispatch_tokens", "cudnn_convolution");
  EXPECT_FALSE(bounds.causes.empty());
  EXPECT_EQ(bounds.causes, renamed.causes);
  EXPECT_EQ(bounds.low_bytes, renamed.low_bytes);
  EXPECT_EQ(bounds.high_bytes, renamed.high_bytes);
}

}  // namespace
}  // namespace memtape
