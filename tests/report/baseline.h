// SPDX-License-Identifier: Apache-2.0
// Approved outputs: a report's text against the file in tests/report/baselines/. Run the tests with
// MEMTAPE_APPROVE=1 to write the files anew, and read the difference before committing it.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace memtape::test {

inline void expect_baseline(const std::string& name, const std::string& output) {
  const std::string path = std::string(MEMTAPE_TEST_DIR) + "/report/baselines/" + name;
  if (std::getenv("MEMTAPE_APPROVE")) std::ofstream(path, std::ios::binary) << output;
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing";
  const std::string approved{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(output, approved) << "differs from " << path;
}

}  // namespace memtape::test
