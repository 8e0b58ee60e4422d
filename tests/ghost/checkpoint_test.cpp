// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/checkpoint.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::ghost {
namespace {

/// How often an op made a block.
std::int64_t blocks_of(const Session& session, std::string_view op) {
  std::int64_t made = 0;
  for (BlockId block = 0; block < session.tape.why.size(); ++block)
    if (session.tape.why[block].op == op) ++made;
  return made;
}

Bytes live_bytes(const Session& session) {
  Bytes live = 0;
  for (const Event& event : session.tape.events) {
    if (event.kind == EventKind::alloc) live += session.tape.requested[event.block];
    if (event.kind == EventKind::free) live -= session.tape.requested[event.block];
  }
  return live;
}

Tensor leaf(const Dims& sizes) {
  Tensor tensor = empty(sizes, DType::float32, Category::parameter);
  tensor.impl().requires_grad = true;
  return tensor;
}

constexpr Bytes kSize = 64 * 64 * 4;

Tensor two_silus(const Tensor& x) { return silu(silu(x)); }

TEST(Checkpoint, KeepsTheInputAndNothingElse) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64});
  const Tensor plain = two_silus(x);
  EXPECT_EQ(live_bytes(session), 3 * kSize) << "x, the inner silu, the result";
  const Tensor checkpointed = checkpoint(two_silus, x);
  EXPECT_EQ(live_bytes(session), 4 * kSize) << "one more result, no inner silu";
}

TEST(Checkpoint, StopsWithTheLastTensorThatWasSaved) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64});
  const Tensor loss = sum_all(checkpoint(two_silus, x));
  EXPECT_EQ(blocks_of(session, "silu"), 2);
  backward(loss);
  EXPECT_EQ(blocks_of(session, "silu"), 3) << "the outer silu saves its input and does not run";
  EXPECT_FALSE(session.skipping);
  EXPECT_FALSE(session.error);
}

TEST(Checkpoint, DropsEverythingOnceBackwardIsThrough) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64});
  {
    const Tensor inner = x.mul(x);
    const Tensor loss = sum_all(checkpoint(two_silus, inner));
    backward(loss);
  }
  EXPECT_EQ(live_bytes(session), 2 * kSize) << "x and its gradient";
  EXPECT_TRUE(x.grad().defined());
}

TEST(Checkpoint, HoldsWhatTheFunctionHolds) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64});
  const auto scaled = [](const Tensor& by) {
    return [by](const Tensor& input) { return silu(input.mul(by)); };
  };
  const Tensor loss = sum_all(checkpoint(scaled(empty({64, 64}, DType::float32)), x));
  const Bytes before = live_bytes(session);
  backward(loss);
  EXPECT_EQ(live_bytes(session), before + kSize - kSize) << "x's gradient came, the factor went";
}

TEST(Checkpoint, RunsAgainUnderTheAutocastOfItsForward) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64}), weight = leaf({64, 64});
  const auto product = [&](const Tensor& input) { return silu(mm(input, weight)); };
  Tensor loss;
  {
    const AutocastContext autocast(true, DType::bfloat16);
    loss = sum_all(checkpoint(product, x));
    EXPECT_EQ(session.autocast.cache.size(), 2U);
  }
  const std::int64_t casts = blocks_of(session, "_to_copy");
  backward(loss);
  EXPECT_GE(blocks_of(session, "_to_copy"), casts + 2) << "x and the weight are cast again";
  EXPECT_TRUE(session.autocast.cache.empty());
  EXPECT_FALSE(session.autocast.enabled);
}

Tensor reentrant(Tensor (*function)(const Tensor&), const Tensor& x) {
  const auto alone = [function](const Tensor& input) {
    return CheckpointOutputs{function(input), {}};
  };
  return checkpoint_reentrant(alone, x).hidden_states;
}

TEST(Checkpoint, ReentrantMakesZerosForWeightsThatNoLossUses) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64});
  const auto with_weights = [](const Tensor& input) {
    const Tensor weights = silu(input);
    return CheckpointOutputs{silu(weights), weights};
  };
  const Tensor loss = sum_all(checkpoint_reentrant(with_weights, x).hidden_states);
  backward(loss);
  EXPECT_EQ(blocks_of(session, "zeros"), 1);
  EXPECT_EQ(blocks_of(session, "add"), 1) << "the list of gradients still holds the zeros";
}

TEST(Checkpoint, ReentrantRunsAllOfItAgain) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64});
  {
    const Tensor loss = sum_all(reentrant(two_silus, x));
    EXPECT_EQ(live_bytes(session), kSize + 4) << "x and the sum: the result is not kept";
    backward(loss);
  }
  EXPECT_EQ(blocks_of(session, "silu"), 4) << "two forward, two again: no early stop";
  EXPECT_EQ(live_bytes(session), 2 * kSize) << "x and its gradient";
}

TEST(Checkpoint, WithoutGradientsIsAPlainCall) {
  Session session{DeviceTraits{}};
  const Tensor x = leaf({64, 64});
  const GradMode no_grad(false);
  const Tensor y = checkpoint(two_silus, x);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(live_bytes(session), 2 * kSize);
}

}  // namespace
}  // namespace memtape::ghost
