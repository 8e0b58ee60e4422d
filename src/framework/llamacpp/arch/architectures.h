// SPDX-License-Identifier: Apache-2.0
// The architectures that llama.cpp knows and memtape builds: each reads its hyperparameters, lists
// its tensors and builds its graph (src/models/NAME.cpp of llama.cpp).
#pragma once

#include <span>
#include <string_view>

#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp {

struct Architecture {
  std::string_view name;  ///< general.architecture
  void (*read)(Hyperparameters&, KeyReader&);
  void (*list)(const Hyperparameters&, WeightList&);
  void (*build)(GraphBuilder&);
};

std::span<const Architecture> architectures();

/// Null where there is none of that name.
const Architecture* find_architecture(std::string_view name);

namespace arch {
extern const Architecture kCommandR, kCohere2, kDeepseek2, kDots1, kErnie45, kErnie45Moe, kGemma,
    kGemma2, kGemma3, kGlm4, kGlm4Moe, kGptOss, kGranite, kGraniteMoe, kInternLm2, kLlama, kMamba,
    kMamba2, kMinimaxM2, kOlmo2, kOlmoe, kPhi3, kQwen2, kQwen2Moe, kQwen3, kQwen35, kQwen35Moe,
    kQwen3Moe, kSeedOss, kSmolLm3, kStarcoder2;
}

}  // namespace memtape::llamacpp
