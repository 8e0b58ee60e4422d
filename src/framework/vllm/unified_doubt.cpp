// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/unified_doubt.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::vllm {
namespace {

bool is_integrated(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"GB10", "Jetson", "Orin", "Thor"};
  return std::ranges::any_of(kNames, [&](auto part) { return name.find(part) != name.npos; });
}

}  // namespace

std::string unified_doubt(const DeviceFacts& device, Bytes peak) {
  constexpr Bytes kPart = 8;
  const Bytes left = device.total - peak;
  if (!is_integrated(device.name) || left < 0 || left >= device.total / kPart) return {};
  return fmt::format(
      "the GPU's memory is the machine's own: it starts where the system, other programs and the "
      "server's own processes hold less than the {} that are left",
      gib(left));
}

}  // namespace memtape::vllm
