// SPDX-License-Identifier: Apache-2.0
// llama-quantize's choice of a type for each tensor (llama-quant.cpp).
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/llamacpp/file_type.h"

namespace memtape::llamacpp {
namespace {

using ggml::Type;

constexpr std::int64_t kLayers = 32;

Weight weight(std::int64_t layer, const std::string& local, std::int64_t columns,
              std::int64_t rows) {
  const std::string name = layer < 0 ? local : fmt::format("blk.{}.{}", layer, local);
  return {.name = name, .local = local, .layer = layer, .ne = {columns, rows, 1, 1}};
}

/// A model of 32 layers, of which `columns` wide rows are quantized.
std::vector<Weight> model(std::int64_t columns) {
  std::vector<Weight> weights{weight(-1, "token_embd.weight", columns, 1000),
                              weight(-1, "output_norm.weight", columns, 1),
                              weight(-1, "output.weight", columns, 1000)};
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    weights.push_back(weight(layer, "attn_norm.weight", columns, 1));
    for (const char* name : {"attn_q.weight", "attn_v.weight", "attn_output.weight",
                             "ffn_gate_inp.weight", "ffn_down.weight"})
      weights.push_back(weight(layer, name, columns, 512));
  }
  return weights;
}

Hyperparameters hyperparameters() {
  Hyperparameters hp;
  hp.arch = "llama";
  hp.n_layer_all = kLayers;
  hp.head.assign(kLayers, 16);
  hp.head_kv.assign(kLayers, 8);
  return hp;
}

std::vector<Weight> quantized(FileType type, std::int64_t columns = 1024) {
  std::vector<Weight> weights = model(columns);
  const Result<void> done = quantize(weights, hyperparameters(), type);
  EXPECT_TRUE(done) << (done ? "" : done.error().line());
  return weights;
}

Type type_of(const std::vector<Weight>& weights, std::string_view name) {
  return std::ranges::find(weights, name, &Weight::name)->type;
}

TEST(FileTypes, AreFoundByNameAndNumber) {
  for (std::int64_t number = 0; number < 100; ++number)
    if (const auto type = file_type_from_number(number)) {
      EXPECT_EQ(static_cast<std::int64_t>(*type), number);
      EXPECT_EQ(*file_type_from_name(name(*type)), *type);
    }
  EXPECT_EQ(*file_type_from_name("q4_k"), FileType::q4_k_m);
  EXPECT_FALSE(file_type_from_number(4)) << "Q4_1 with some F16 was removed";
  EXPECT_FALSE(file_type_from_name("Q4_K_XL"));
}

TEST(Quantize, LeavesVectorsNormsAndRoutersAlone) {
  for (const FileType type : {FileType::q8_0, FileType::q4_k_m, FileType::iq2_xs}) {
    const std::vector<Weight> weights = quantized(type);
    EXPECT_EQ(type_of(weights, "blk.3.attn_norm.weight"), Type::f32) << name(type);
    EXPECT_EQ(type_of(weights, "blk.3.ffn_gate_inp.weight"), Type::f32) << name(type);
    EXPECT_EQ(type_of(weights, "output_norm.weight"), Type::f32) << name(type);
    EXPECT_TRUE(ggml::is_quantized(type_of(weights, "blk.3.attn_q.weight"))) << name(type);
  }
}

/// use_more_bits: the first eighth, the last eighth, and every third between.
TEST(Quantize, GivesHalfOfTheValuesMoreBitsInQ4KM) {
  const std::vector<Weight> weights = quantized(FileType::q4_k_m);
  const auto more = std::ranges::count_if(
      weights, [](const Weight& w) { return w.local == "attn_v.weight" && w.type == Type::q6_k; });
  EXPECT_EQ(more, 4 + 4 + 8);
  EXPECT_EQ(type_of(weights, "blk.0.ffn_down.weight"), Type::q6_k);
  EXPECT_EQ(type_of(weights, "blk.4.ffn_down.weight"), Type::q4_k);
  EXPECT_EQ(type_of(weights, "blk.6.ffn_down.weight"), Type::q6_k);
  EXPECT_EQ(type_of(weights, "output.weight"), Type::q6_k);
  EXPECT_EQ(type_of(weights, "blk.0.attn_q.weight"), Type::q4_k);
}

/// tensor_type_fallback: rows of 96 are no blocks of 256, rows of 100 none of 32.
TEST(Quantize, FallsBackWhereRowsAreNoWholeBlocks) {
  const std::vector<Weight> rows = quantized(FileType::q4_k_m, 96);
  EXPECT_EQ(type_of(rows, "blk.0.attn_q.weight"), Type::q5_0) << "in place of q4_K";
  EXPECT_EQ(type_of(rows, "blk.0.attn_v.weight"), Type::q8_0) << "in place of q6_K";
  EXPECT_EQ(type_of(quantized(FileType::q4_0, 100), "blk.0.attn_q.weight"), Type::f16);
}

TEST(Quantize, GivesATiedEmbeddingTheOutputsType) {
  std::vector<Weight> weights = model(1024);
  std::erase_if(weights, [](const Weight& w) { return w.name == "output.weight"; });
  ASSERT_TRUE(quantize(weights, hyperparameters(), FileType::q4_k_m));
  EXPECT_EQ(type_of(weights, "token_embd.weight"), Type::q6_k);
  EXPECT_EQ(type_of(quantized(FileType::q4_k_m), "token_embd.weight"), Type::q4_k);
}

}  // namespace
}  // namespace memtape::llamacpp
