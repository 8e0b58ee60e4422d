// SPDX-License-Identifier: Apache-2.0
// Which backend computes a node, and what is copied to it (ggml-backend.cpp): a GPU, number 0, and
// the CPU, number 1.
#include "ggml/scheduler.h"

#include <array>

#include <gtest/gtest.h>

#include "ggml/cuda_backend.h"

namespace memtape::ggml {
namespace {

constexpr int kGpu = 0, kCpu = 1;
constexpr std::int64_t kWidth = 1024;

struct Machine {
  CudaBackend gpu{CudaDevice{}};
  CpuBackend cpu;
  std::array<const Backend*, 2> backends{&gpu, &cpu};
  std::array<const BufferType*, 2> buffers{&gpu.buffer_type(), &cpu.buffer_type()};

  SchedulerSetup setup() const { return {.backends = backends, .buffers = buffers}; }
};

Tensor* weight(Graph& graph, const BufferType& where) {
  Tensor* made = graph.tensor(Type::f16, {kWidth, kWidth, 1, 1});
  made->buffer = &where;
  made->weight = true;
  return made;
}

TEST(Scheduler, ComputesWhereTheWeightsAre) {
  const Machine machine;
  Graph graph;
  Tensor* x = graph.input(Type::f32, {kWidth, 1, 1, 1});
  Tensor* y = graph.mul_mat(weight(graph, machine.gpu.buffer_type()), x);
  Tensor* z = graph.mul_mat(weight(graph, machine.cpu.buffer_type()), y);
  graph.expand(z);
  const Schedule plan = schedule(graph, machine.setup(), {});
  EXPECT_EQ(plan.backend_of[static_cast<std::size_t>(y->id)], kGpu);
  EXPECT_EQ(plan.backend_of[static_cast<std::size_t>(z->id)], kCpu);
  EXPECT_EQ(plan.splits, 2);
  EXPECT_EQ(plan.bytes[kGpu], 2 * kWidth * 4) << "the copy of x, and y";
}

/// ggml_backend_cuda_device_offload_op: from 32 tokens on.
TEST(Scheduler, OffloadsLargeBatchesOfHostWeights) {
  const Machine machine;
  const auto computes = [&](std::int64_t tokens, bool op_offload) {
    Graph graph;
    Tensor* x = graph.input(Type::f32, {kWidth, tokens, 1, 1});
    Tensor* y = graph.mul_mat(weight(graph, machine.cpu.buffer_type()), x);
    graph.expand(y);
    SchedulerSetup setup = machine.setup();
    setup.op_offload = op_offload;
    return schedule(graph, setup, {}).backend_of[static_cast<std::size_t>(y->id)];
  };
  EXPECT_EQ(computes(31, true), kCpu);
  EXPECT_EQ(computes(32, true), kGpu);
  EXPECT_EQ(computes(32, false), kCpu) << "--no-op-offload";
}

TEST(Scheduler, HoldsToAPin) {
  const Machine machine;
  Graph graph;
  Tensor* x = graph.input(Type::f32, {kWidth, 1, 1, 1});
  Tensor* y = graph.mul_mat(weight(graph, machine.gpu.buffer_type()), x);
  Tensor* normed = graph.rms_norm(y);
  graph.expand(normed);
  const Pins pins{{normed, kCpu}};
  EXPECT_EQ(schedule(graph, machine.setup(), pins).backend_of[static_cast<std::size_t>(normed->id)],
            kCpu);
}

TEST(Scheduler, CountsABatchByTheOp) {
  Graph graph;
  Tensor* x = graph.input(Type::f32, {64, 5, 3, 1});
  EXPECT_EQ(batch_size(*graph.mul_mat(graph.tensor(Type::f32, {64, 8, 1, 1}), x)), 5);
  EXPECT_EQ(batch_size(*graph.rope(x, nullptr, nullptr)), 3);
  EXPECT_EQ(batch_size(*graph.unary(Unary::silu, x)), 15);
  Tensor* rows = graph.input(Type::i32, {40, 1, 1, 1});
  EXPECT_EQ(batch_size(*graph.get_rows(graph.tensor(Type::f32, {64, 100, 1, 1}), rows)), 0);
}

TEST(Graph, RemembersShapesThatDoNotFit) {
  Graph graph;
  Tensor* x = graph.input(Type::f32, {64, 1, 1, 1});
  EXPECT_EQ(graph.mul_mat(graph.tensor(Type::f32, {63, 8, 1, 1}), x), x);
  EXPECT_FALSE(graph.failure().empty());
}

}  // namespace
}  // namespace memtape::ggml
