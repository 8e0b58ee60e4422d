// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/captured_kernels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace memtape::vllm {
namespace {

bool is_fused(std::string_view op) {
  constexpr std::array<std::string_view, 10> kOps{"_to_copy", "add",  "sub",   "mul",     "div",
                                                  "pow",      "mean", "rsqrt", "sigmoid", "silu"};
  return std::ranges::find(kOps, op) != kOps.end();
}

}  // namespace

std::int64_t captured_kernels(const Tape& tape, std::size_t from, bool fuses) {
  std::int64_t count = 0;
  std::optional<Why> last;
  for (std::size_t i = from; i < tape.events.size(); ++i) {
    if (tape.events[i].kind != EventKind::alloc) continue;
    const Why why = tape.why[tape.events[i].block];
    const bool continues =
        last && last->scope == why.scope &&
        (std::string_view(last->op) == why.op || (fuses && is_fused(last->op) && is_fused(why.op)));
    if (!continues) ++count;
    last = why;
  }
  return count;
}

}  // namespace memtape::vllm
