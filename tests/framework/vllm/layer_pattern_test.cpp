// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/layer_pattern.h"

#include <string>

#include <gtest/gtest.h>

namespace memtape::vllm {
namespace {

TEST(LayerPattern, AlternativesAreTriedInTurn) {
  const char* dense = R"(.*mlp\.(gate|up|gate_up|down)_proj.*)";
  EXPECT_TRUE(matches_expression(dense, "model.layers.0.mlp.gate_up_proj"));
  EXPECT_TRUE(matches_expression(dense, "model.layers.0.mlp.down_proj"));
  EXPECT_FALSE(matches_expression(dense, "model.layers.1.mlp.gate"));
  EXPECT_FALSE(matches_expression(dense, "model.layers.1.mlpxgate_proj"));
}

TEST(LayerPattern, ExpressionsStartWhereTheNameStarts) {
  EXPECT_FALSE(matches_expression("self_attn", "model.layers.0.self_attn.o_proj"));
  EXPECT_TRUE(matches_expression(".*self_attn", "model.layers.0.self_attn.o_proj"));
  EXPECT_TRUE(matches_expression("lm_head$", "lm_head"));
  EXPECT_FALSE(matches_expression("lm_head$", "lm_head.weight"));
}

TEST(LayerPattern, ClassesAndRepetitions) {
  EXPECT_TRUE(matches_expression(R"(model\.layers\.[0-2]\..*)", "model.layers.2.mlp"));
  EXPECT_FALSE(matches_expression(R"(model\.layers\.[0-2]\..*)", "model.layers.3.mlp"));
  EXPECT_TRUE(matches_expression(R"(model\.layers\.(0|1\d)\.mlp)", "model.layers.17.mlp"));
  EXPECT_TRUE(matches_expression("a?b+$", "bbb"));
  EXPECT_FALSE(matches_expression("ab+$", "a"));
}

TEST(LayerPattern, HostileExpressionsEnd) {
  const std::string name(200, 'a');
  EXPECT_FALSE(matches_expression("(a*)*(a*)*(a*)*b", name));
  EXPECT_FALSE(matches_expression("(((", name));
  EXPECT_FALSE(matches_expression("[", name));
  EXPECT_FALSE(matches_expression("\\", name));
}

TEST(LayerPattern, ShellPatternsSpanTheName) {
  EXPECT_TRUE(matches_shell_pattern("*self_attn*", "model.layers.0.self_attn.qkv_proj"));
  EXPECT_TRUE(matches_shell_pattern("model.layers.?.mlp.gate", "model.layers.3.mlp.gate"));
  EXPECT_FALSE(matches_shell_pattern("model.layers.?.mlp", "model.layers.3.mlp.gate"));
  EXPECT_FALSE(matches_shell_pattern("lm_head", "model.lm_head"));
}

}  // namespace
}  // namespace memtape::vllm
