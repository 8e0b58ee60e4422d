// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/freeze.h"

#include <gtest/gtest.h>

namespace memtape::torch {
namespace {

TEST(Fnmatch, DoesAsPythonDoes) {
  const auto is = [](std::string_view name, std::string_view pattern) {
    return fnmatch(name, pattern);
  };
  EXPECT_TRUE(is("model.embed_tokens.weight", "*embed*"));
  EXPECT_FALSE(is("transformer.wte.weight", "*embed*"));
  EXPECT_TRUE(is("", "*"));
  EXPECT_TRUE(is("", ""));
  EXPECT_FALSE(is("", "?"));
  EXPECT_FALSE(is("ab", "a"));
  EXPECT_TRUE(is("ab", "a?"));
  EXPECT_TRUE(is("layers.10.mlp", "layers.1?.*"));
  EXPECT_TRUE(is("aXbXc", "a*X*c"));
  EXPECT_FALSE(is("aXbX", "a*X*c"));
  EXPECT_TRUE(is("q_proj", "[qkv]_proj"));
  EXPECT_FALSE(is("o_proj", "[qkv]_proj"));
  EXPECT_TRUE(is("o_proj", "[!qkv]_proj"));
  EXPECT_TRUE(is("layers.3.x", "layers.[0-5].x"));
  EXPECT_FALSE(is("layers.7.x", "layers.[0-5].x"));
  EXPECT_TRUE(is("a]b", "a[]]b")) << "a ] right after [ is a member";
  EXPECT_TRUE(is("a[b", "a[b")) << "an open [ is itself";
  EXPECT_FALSE(is("Weight", "weight")) << "case counts";
}

}  // namespace
}  // namespace memtape::torch
