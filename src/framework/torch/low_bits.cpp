// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/low_bits.h"

#include <array>
#include <string>

#include <fmt/format.h>

namespace memtape::torch {
namespace {

struct Needed {
  std::string_view name, gpus;
  int major, minor;
};
/// In the order of LowBits.
constexpr auto kNeeded = std::to_array<Needed>({{"fp8", "Ada (RTX 40, L4), Hopper and later", 8, 9},
                                                {"mxfp8", "Blackwell and later", 10, 0},
                                                {"nvfp4", "Blackwell and later", 10, 0}});

}  // namespace

Result<void> check_low_bits(LowBits bits, const ghost::DeviceTraits& device,
                            std::string_view option) {
  const Needed& needed = kNeeded[static_cast<std::size_t>(bits)];
  if (!device.memory || device.at_least(needed.major, needed.minor)) return {};
  return bad_input(fmt::format("products in {} need compute capability {}.{}, the GPU has {}.{}",
                               needed.name, needed.major, needed.minor, device.major, device.minor),
                   std::string(option), fmt::format("bf16, or one of {}", needed.gpus));
}

}  // namespace memtape::torch
