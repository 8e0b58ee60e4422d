// SPDX-License-Identifier: Apache-2.0
// The architectures of llama.cpp that memtape builds. Each reads its hyperparameters, lists its
// tensors and builds its graph (src/models/NAME.cpp of llama.cpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp {

struct Architecture {
  std::string_view name;  ///< general.architecture
  void (*read)(Hyperparameters&, KeyReader&);
  void (*list)(const Hyperparameters&, WeightList&);
  void (*build)(GraphBuilder&);
  void (*build_draft)(GraphBuilder&) = nullptr;  ///< that of the draft block, if it is modelled
};

std::span<const Architecture> architectures();

/// It is null if there is none with that name.
const Architecture* find_architecture(std::string_view name);

/// A hint for a name that was typed: the nearest one, or the place where all are listed.
std::string hint_at(std::string_view typed, std::span<const std::string_view> names);

namespace arch {
extern const Architecture kAfMoe, kApertus, kArcee, kArctic, kBaichuan, kBailingMoe, kBailingMoe2,
    kBert, kBitNet, kBloom, kChatGlm, kCodeShell, kCohere2, kCommandR, kDbrx, kDeci, kDeepseek,
    kDeepseek2, kDeepseek2Ocr, kDeepseek32, kDots1, kDream, kErnie45, kErnie45Moe, kEuroBert,
    kExaone, kExaone4, kExaoneMoe, kFalcon, kFalconH1, kGemma, kGemma2, kGemma3, kGemma3n, kGemma4,
    kGemmaEmbedding, kGlm4, kGlm4Moe, kGlmDsa, kGpt2, kGptNeoX, kGptOss, kGranite, kGraniteHybrid,
    kGraniteMoe, kGrok, kHunyuanDense, kHunyuanMoe, kHunyuanVl, kInternLm2, kJais, kJais2, kJamba,
    kJinaBert2, kJinaBert3, kKimiLinear, kLfm2, kLfm2Moe, kLlada, kLladaMoe, kLlama, kLlama4,
    kMainCoder, kMamba, kMamba2, kMellum, kMiniCpm, kMiniCpm3, kMimo2, kMinimaxM2, kMistral3,
    kMistral4, kModernBert, kMpt, kNemotron, kNemotronH, kNemotronHMoe, kNomicBert, kNomicBertMoe,
    kOlmo, kOlmo2, kOlmoe, kOpenElm, kOrion, kPaddleOcr, kPanguEmbed, kPhi2, kPhi3, kPhiMoe, kPlamo,
    kPlamo2, kPlamo3, kQwen, kQwen2, kQwen2Moe, kQwen2Vl, kQwen3, kQwen35, kQwen35Moe, kQwen3Moe,
    kQwen3Next, kQwen3Vl, kQwen3VlMoe, kRefact, kRnd1, kRwkv6, kRwkv7, kSeedOss, kSmallThinker,
    kSmolLm3, kStableLm, kStarcoder, kStep35, kStarcoder2, kT5, kT5Encoder, kXverse;
}

}  // namespace memtape::llamacpp
