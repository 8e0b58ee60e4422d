// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/architectures.h"

#include <algorithm>
#include <array>

namespace memtape::llamacpp {

std::span<const Architecture> architectures() {
  static const std::array kAll{
      arch::kCommandR,  arch::kCohere2,  arch::kDeepseek2, arch::kGemma,     arch::kGemma2,
      arch::kGemma3,    arch::kGlm4Moe,  arch::kGptOss,    arch::kGranite,   arch::kGraniteMoe,
      arch::kLlama,     arch::kMamba,    arch::kMamba2,    arch::kOlmo2,     arch::kOlmoe,
      arch::kPhi3,      arch::kQwen2,    arch::kQwen2Moe,  arch::kQwen3,     arch::kQwen35,
      arch::kQwen35Moe, arch::kQwen3Moe, arch::kSmolLm3,   arch::kStarcoder2};
  return kAll;
}

const Architecture* find_architecture(std::string_view name) {
  const auto all = architectures();
  const auto at = std::ranges::find(all, name, &Architecture::name);
  return at == all.end() ? nullptr : &*at;
}

}  // namespace memtape::llamacpp
