// SPDX-License-Identifier: Apache-2.0
// What a graph takes by the rules of ggml-alloc.c: small graphs whose places can be counted by
// hand.
#include "ggml/graph_allocator.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "ggml/graph.h"

namespace memtape::ggml {
namespace {

constexpr Bytes kAlignment = 32;
constexpr Extents kRow{1024, 1, 1, 1};
constexpr Bytes kRowBytes = 4096;

const BufferType& memory() {
  static const BufferType type("CPU", kAlignment, BufferType::kHost);
  return type;
}

Bytes reserved(const Graph& graph) {
  std::vector<Placed> nodes, leafs;
  for (Tensor* node : graph.nodes()) nodes.push_back({node, 0});
  for (Tensor* leaf : graph.leafs()) leafs.push_back({leaf, 0});
  const BufferType* const buffers[] = {&memory()};
  return reserve({nodes, leafs, buffers, graph.tensors()}).front();
}

/// A matrix that lies outside the graph's memory.
Tensor* weight(Graph& graph) {
  Tensor* made = graph.tensor(Type::f32, {1024, 1024, 1, 1});
  made->buffer = &memory();
  made->weight = true;
  return made;
}

TEST(GraphAllocator, LetsResultsTakeTheirSourcesPlace) {
  Graph graph;
  Tensor* x = graph.input(Type::f32, kRow);
  for (int i = 0; i < 10; ++i) x = graph.unary(Unary::silu, x);
  graph.expand(x);
  EXPECT_EQ(reserved(graph), kRowBytes);
}

TEST(GraphAllocator, KeepsWhatIsReadLater) {
  Graph graph;
  Tensor* x = graph.input(Type::f32, kRow);
  graph.expand(graph.add(graph.unary(Unary::silu, x), x));
  EXPECT_EQ(reserved(graph), 2 * kRowBytes) << "x is read again after silu";
}

TEST(GraphAllocator, NeverWritesOverAnOutput) {
  Graph graph;
  Tensor* x = graph.input(Type::f32, kRow);
  Tensor* shown = graph.unary(Unary::silu, x);
  shown->output = true;
  graph.expand(graph.unary(Unary::silu, shown));
  EXPECT_EQ(reserved(graph), 2 * kRowBytes);
}

TEST(GraphAllocator, NeedsTwoPlacesForAChainOfProducts) {
  Graph graph;
  Tensor* x = graph.input(Type::f32, kRow);
  for (int i = 0; i < 10; ++i) x = graph.mul_mat(weight(graph), x);
  graph.expand(x);
  EXPECT_EQ(reserved(graph), 2 * kRowBytes) << "mul_mat cannot work in place";
}

TEST(GraphAllocator, KeepsATensorForItsViews) {
  Graph graph;
  Tensor* x = graph.mul_mat(weight(graph), graph.input(Type::f32, kRow));
  Tensor* half = graph.view_1d(x, 512, 0);
  Tensor* y = graph.mul_mat(weight(graph), graph.input(Type::f32, kRow));
  graph.expand(graph.add(y, graph.repeat(half, kRow)));
  Graph without;
  Tensor* a = without.mul_mat(weight(without), without.input(Type::f32, kRow));
  Tensor* b = without.mul_mat(weight(without), without.input(Type::f32, kRow));
  without.expand(without.add(b, without.repeat(a, kRow)));
  EXPECT_EQ(reserved(graph), reserved(without)) << "a view costs nothing and frees nothing";
}

/// No graph takes less than what one node reads and writes, nor more than all of it side by side.
TEST(GraphAllocator, LiesBetweenTheLargestNodeAndTheSumOfAll) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Graph graph;
    const auto some_rows = [&] { return static_cast<std::int64_t>(1 + random() % 9); };
    std::vector<Tensor*> made{graph.input(Type::f32, {64, some_rows(), 1, 1})};
    for (int i = 0; i < 12; ++i) {
      Tensor* a = made[random() % made.size()];
      Tensor* b = made[random() % made.size()];
      switch (random() % 3) {
        case 0: made.push_back(graph.concat(a, b, 1)); break;
        case 1: made.push_back(graph.unary(Unary::silu, a)); break;
        default: made.push_back(graph.repeat(a, {64, a->ne[1] * some_rows(), 1, 1}));
      }
      if (random() % 5 == 0) made.back()->output = true;
    }
    for (Tensor* tensor : made) graph.expand(tensor);
    Bytes all = 0, most = 0;
    for (const Tensor* leaf : graph.leafs()) all += round_up(bytes_of(*leaf), kAlignment);
    for (const Tensor* node : graph.nodes()) {
      all += round_up(bytes_of(*node), kAlignment);
      most = std::max(most, bytes_of(*node));
    }
    const Bytes bytes = reserved(graph);
    EXPECT_GE(bytes, most) << "seed " << seed;
    EXPECT_LE(bytes, all) << "seed " << seed;
    EXPECT_EQ(bytes % kAlignment, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace memtape::ggml
