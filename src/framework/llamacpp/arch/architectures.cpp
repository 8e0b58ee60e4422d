// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/arch/architectures.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace memtape::llamacpp {

std::span<const Architecture> architectures() {
  static const std::array kAll{
      arch::kAfMoe,        arch::kDeepseek2Ocr,   arch::kMimo2,      arch::kStep35,
      arch::kApertus,      arch::kArcee,          arch::kArctic,     arch::kBaichuan,
      arch::kBailingMoe,   arch::kBailingMoe2,    arch::kBert,       arch::kBitNet,
      arch::kBloom,        arch::kChatGlm,        arch::kCodeShell,  arch::kCohere2,
      arch::kCommandR,     arch::kDbrx,           arch::kDeci,       arch::kDeepseek,
      arch::kDeepseek2,    arch::kDeepseek32,     arch::kDots1,      arch::kDream,
      arch::kErnie45,      arch::kErnie45Moe,     arch::kEuroBert,   arch::kExaone,
      arch::kExaone4,      arch::kExaoneMoe,      arch::kFalcon,     arch::kFalconH1,
      arch::kGemma,        arch::kGemma2,         arch::kGemma3,     arch::kGemma3n,
      arch::kGemma4,       arch::kGemmaEmbedding, arch::kGlm4,       arch::kGlm4Moe,
      arch::kGlmDsa,       arch::kGpt2,           arch::kGptNeoX,    arch::kGptOss,
      arch::kGranite,      arch::kGraniteHybrid,  arch::kGraniteMoe, arch::kGrok,
      arch::kHunyuanDense, arch::kHunyuanMoe,     arch::kHunyuanVl,  arch::kInternLm2,
      arch::kJais,         arch::kJais2,          arch::kJamba,      arch::kJinaBert2,
      arch::kJinaBert3,    arch::kKimiLinear,     arch::kLfm2,       arch::kLfm2Moe,
      arch::kLlada,        arch::kLladaMoe,       arch::kLlama,      arch::kLlama4,
      arch::kMainCoder,    arch::kMamba,          arch::kMamba2,     arch::kMellum,
      arch::kMiniCpm,      arch::kMiniCpm3,       arch::kMinimaxM2,  arch::kMistral3,
      arch::kMistral4,     arch::kModernBert,     arch::kMpt,        arch::kNemotron,
      arch::kNemotronH,    arch::kNemotronHMoe,   arch::kNomicBert,  arch::kNomicBertMoe,
      arch::kOlmo,         arch::kOlmo2,          arch::kOlmoe,      arch::kOpenElm,
      arch::kOrion,        arch::kPaddleOcr,      arch::kPanguEmbed, arch::kPhi2,
      arch::kPhi3,         arch::kPhiMoe,         arch::kPlamo,      arch::kPlamo2,
      arch::kPlamo3,       arch::kQwen,           arch::kQwen2,      arch::kQwen2Moe,
      arch::kQwen2Vl,      arch::kQwen3,          arch::kQwen35,     arch::kQwen35Moe,
      arch::kQwen3Moe,     arch::kQwen3Next,      arch::kQwen3Vl,    arch::kQwen3VlMoe,
      arch::kRefact,       arch::kRnd1,           arch::kRwkv6,      arch::kRwkv7,
      arch::kSeedOss,      arch::kSmallThinker,   arch::kSmolLm3,    arch::kStableLm,
      arch::kStarcoder,    arch::kStarcoder2,     arch::kT5,         arch::kT5Encoder,
      arch::kXverse};
  return kAll;
}

const Architecture* find_architecture(std::string_view name) {
  const auto all = architectures();
  const auto at = std::ranges::find(all, name, &Architecture::name);
  return at == all.end() ? nullptr : &*at;
}

std::string hint_at(std::string_view typed, std::span<const std::string_view> names) {
  const std::string_view near = nearest(typed, names);
  return near.empty() ? "docs/serving.md lists them" : "did you mean " + std::string(near) + "?";
}

}  // namespace memtape::llamacpp
