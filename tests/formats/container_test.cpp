// SPDX-License-Identifier: Apache-2.0
#include "formats/container.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

TEST(Mount, says_where_the_host_has_a_path) {
  const auto brief = read_mount("/data/models:/models:ro");
  const auto spelled = read_mount("type=bind,source=/data/m,target=/model");
  ASSERT_TRUE(brief && spelled);
  const std::vector<Mount> mounts{*brief, *spelled};
  EXPECT_EQ(path_on_host("/models/x", mounts), "/data/models/x");
  EXPECT_EQ(path_on_host("/model", mounts), "/data/m");
  EXPECT_EQ(path_on_host("/modelsx/y", mounts), "/modelsx/y");
  EXPECT_EQ(read_mount("hf://models/org/name:/mnt")->host, "hf://models/org/name");
  EXPECT_FALSE(read_mount("named-volume:/data").has_value());
  EXPECT_FALSE(read_mount("/anonymous").has_value());
}

}  // namespace
}  // namespace memtape
