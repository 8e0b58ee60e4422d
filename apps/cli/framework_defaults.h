// SPDX-License-Identifier: Apache-2.0
// What each training framework does if nothing is said but its name: its own defaults, read from the
// recipe that its name alone comes to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtape::cli {

struct FrameworkDefaults {
  std::string_view name, summary;
  std::string text;  ///< "1 x 2048 tokens, bf16, adamw (foreach), clip 1"
};

/// In the order in which frameworks are listed.
std::vector<FrameworkDefaults> framework_defaults();

}  // namespace memtape::cli
