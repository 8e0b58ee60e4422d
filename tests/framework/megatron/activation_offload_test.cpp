// SPDX-License-Identifier: Apache-2.0
// Offloaded activations: what a group saved leaves the GPU at its commit, comes back before its
// backward needs it, and is gone afterwards.
#include "framework/megatron/activation_offload.h"

#include <gmock/gmock.h>

#include "framework/megatron/function.h"
#include "ghost/autograd/engine.h"
#include "ghost/ops/creation.h"

namespace memtape::megatron {
namespace {

constexpr Bytes kSize = 4096;

Tensor made() { return ghost::empty({kSize / 4}, DType::float32); }

/// Bytes on the GPU.
Bytes live_bytes(const ghost::Session& session) {
  Bytes live = 0;
  for (const Event& event : session.tape.events) {
    if (event.kind == EventKind::alloc) live += session.tape.requested[event.block];
    if (event.kind == EventKind::free) live -= session.tape.requested[event.block];
  }
  return live;
}

/// A function that saves a tensor of its own.
Tensor keeping(const Tensor& x) {
  return apply({.name = "Keeping",
                .inputs = {x},
                .forward =
                    [](ToSave& save) {
                      save = {made()};
                      return made();
                    },
                .backward = [](std::span<const Tensor>, const Tensor&,
                               ghost::Gradients& out) { out[0] = made(); }});
}

struct Step {
  explicit Step(std::int64_t least = 1) {
    arguments.min_offloaded_tensor_size = least;
    offload = ghost::Ptr<ActivationOffload>(new ActivationOffload(arguments));
    x = made();
    x.impl().requires_grad = true;
  }
  /// Two modules in a row, each with a group of its own.
  Tensor forward() {
    offload->begin_chunk(0);
    const OffloadedModule module(offload.get(), "qkv_linear");
    const Tensor between = module.commit(module(x, keeping), {});
    return module.commit(module(between, keeping), {});
  }

  const ghost::Session session{ghost::DeviceTraits{}};
  Arguments arguments;
  ghost::Ptr<ActivationOffload> offload;
  Tensor x;
};

TEST(ActivationOffload, what_a_group_saved_leaves_at_its_commit) {
  Step step;
  const Tensor output = step.forward();
  EXPECT_EQ(live_bytes(step.session), 2 * kSize) << "x and the output";
}

TEST(ActivationOffload, small_tensors_stay) {
  Step step(kSize);
  const Tensor output = step.forward();
  EXPECT_EQ(live_bytes(step.session), 4 * kSize) << "and what each module saved";
}

TEST(ActivationOffload, the_last_group_stays_once_the_groups_are_known) {
  Step step;
  ghost::backward(step.forward());
  step.offload->end_step();
  step.x.impl().grad.reset();
  EXPECT_EQ(live_bytes(step.session), kSize) << "x";
  const Tensor output = step.forward();
  EXPECT_EQ(live_bytes(step.session), 3 * kSize) << "and what the second module saved";
}

TEST(ActivationOffload, nothing_is_left_behind) {
  Step step;
  for (int i = 0; i < 3; ++i) {
    ghost::backward(step.forward());
    step.offload->end_step();
    step.x.impl().grad.reset();
    EXPECT_EQ(live_bytes(step.session), kSize) << "x after step " << i;
  }
}

}  // namespace
}  // namespace memtape::megatron
