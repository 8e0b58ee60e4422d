// SPDX-License-Identifier: Apache-2.0
// The headers of libraries that most files include, read once a build (MEMTAPE_PRECOMPILED_HEADERS). No file may rely on it: each includes what it
// uses, which every build without that option checks.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tl/expected.hpp>
