// SPDX-License-Identifier: Apache-2.0
// --engine-version, as vLLM and SGLang take it.
#include "serving/engine_release.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

Result<Release> vllm_release(std::string text) {
  ServeOptions options;
  if (!text.empty()) options.add("engine-version", std::move(text));
  return engine_release(options, Package::vllm, "0.32.0", {});
}

TEST(EngineRelease, IsTheNewestWhereNobodySays) {
  EXPECT_EQ(vllm_release("")->of(Package::vllm), (Version{0, 32, 0}));
}

TEST(EngineRelease, IsThreeNumbers) {
  for (const char* text : {"0.11.2", "v0.11.2", "0.11.2rc1", "0.11.2.post1", "0.11.2+cu128"})
    EXPECT_EQ(vllm_release(text)->of(Package::vllm), (Version{0, 11, 2})) << text;
  for (const char* text : {"0.11", "latest", "11.", "-1.2.3"})
    EXPECT_EQ(vllm_release(text).error().hint, "like 0.32.0") << text;
}

TEST(EngineRelease, LeavesThePackagesBelowAsTheyAre) {
  Release below;
  below.set(Package::torch, {2, 8, 0});
  const Release release = *engine_release({}, Package::sglang, "0.5.23", below);
  EXPECT_EQ(release.of(Package::torch), (Version{2, 8, 0}));
  EXPECT_EQ(release.of(Package::sglang), (Version{0, 5, 23}));
}

}  // namespace
}  // namespace memtape
