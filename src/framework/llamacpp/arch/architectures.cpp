// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/architectures.h"

#include <algorithm>
#include <array>

namespace memtape::llamacpp {

std::span<const Architecture> architectures() {
  static const std::array kAll{
      arch::kCommandR,   arch::kCohere2,   arch::kDeepseek2, arch::kDots1,      arch::kErnie45,
      arch::kErnie45Moe, arch::kGemma,     arch::kGemma2,    arch::kGemma3,     arch::kGlm4,
      arch::kGlm4Moe,    arch::kGptOss,    arch::kGranite,   arch::kGraniteMoe, arch::kInternLm2,
      arch::kLlama,      arch::kMamba,     arch::kMamba2,    arch::kMinimaxM2,  arch::kOlmo2,
      arch::kOlmoe,      arch::kPhi3,      arch::kQwen2,     arch::kQwen2Moe,   arch::kQwen3,
      arch::kQwen35,     arch::kQwen35Moe, arch::kQwen3Moe,  arch::kSeedOss,    arch::kSmolLm3,
      arch::kStarcoder2};
  return kAll;
}

const Architecture* find_architecture(std::string_view name) {
  const auto all = architectures();
  const auto at = std::ranges::find(all, name, &Architecture::name);
  return at == all.end() ? nullptr : &*at;
}

}  // namespace memtape::llamacpp
