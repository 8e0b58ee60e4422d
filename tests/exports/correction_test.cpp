// SPDX-License-Identifier: Apache-2.0
// A launch command that is corrected: options change where they were typed.
#include "exports/correction.h"

#include <sstream>

#include <gtest/gtest.h>

namespace memtape::exports {
namespace {

class NoFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path) const override {
    return bad_input("cannot be opened", path);
  }
};

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Correction, ChangesWhatWasTyped) {
  const std::vector<std::string> typed =
      words("A=1 vllm serve m --max_model_len=9 -tp 1 --gpu-memory-utilization 0.5");
  const Result<launch::Translation> translation = launch::translate(typed, NoFiles());
  ASSERT_TRUE(translation.has_value());
  const std::vector<Change> changes{{"max-model-len", "8"},
                                    {"tensor-parallel-size", "2"},
                                    {"quantization", "fp8"},
                                    {"enforce-eager", ""}};
  EXPECT_EQ(corrected_command(*translation, typed, changes),
            "A=1 vllm serve m --max_model_len=8 -tp 2 --gpu-memory-utilization 0.5 "
            "--quantization fp8 --enforce-eager");
}

}  // namespace
}  // namespace memtape::exports
