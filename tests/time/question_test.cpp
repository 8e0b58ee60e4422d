// SPDX-License-Identifier: Apache-2.0
#include "time/question.h"

#include <gtest/gtest.h>

namespace memtape::time {
namespace {

std::string error_of(std::string_view json) {
  const Result<TimeQuestion> question = read_time_question(json, "q:1");
  return question ? "" : question.error().line();
}

TEST(TimeQuestion, ReadsSizesByName) {
  const Result<TimeQuestion> q = read_time_question(
      R"({"model": "m", "gpu": "h100-80gb", "gpus": 16, "tp": 2, "precision": "fp8",
          "recompute_modules": ["core_attn"], "network_gb_s": 25})",
      "q:1");
  ASSERT_TRUE(q) << q.error().line();
  EXPECT_EQ(q->train.gpus, 16);
  EXPECT_EQ(q->train.compute, Compute::fp8);
  EXPECT_TRUE(q->train.recompute.core_attention);
  EXPECT_EQ(q->machine.network_gb_s, 25);
}

TEST(TimeQuestion, RefusesWhatItCannotTake) {
  EXPECT_NE(error_of("[]"), "");
  EXPECT_NE(error_of(R"({"gpu": "h100-80gb"})").find("model"), std::string::npos);
  EXPECT_NE(error_of(R"({"model": "m", "gpu": "x", "tpp": 2})").find("tpp"), std::string::npos);
  EXPECT_NE(error_of(R"({"model": "m", "gpu": "x", "gpus": 8, "tp": 3})").find("tp 3"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"model": "m", "gpu": "x", "precision": "fp7"})").find("fp7"), 0U);
  EXPECT_NE(error_of(R"({"model": "m", "gpu": "x", "tp": 0})"), "");
  EXPECT_NE(error_of(R"({"model": "m", "gpu": "x", "micro_batch_size": 99999999999})"), "");
}

}  // namespace
}  // namespace memtape::time
