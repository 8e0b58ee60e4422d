// SPDX-License-Identifier: Apache-2.0
#include "release/vllm_models.h"

#include <array>

namespace memtape {
namespace {

struct Served {
  Version since;
  std::string_view architectures;
};

/// The registries of 0.4.1, 0.6.5, 0.7.3, 0.8.3, 0.8.5, 0.9.0, 0.9.2, 0.10.0 to 0.10.2, 0.11.0 and
/// 0.11.2: `since` is the first release behind the last of them that lacks the architecture.
constexpr auto kServed = std::to_array<Served>({
    {{0, 4, 2},
     "Cohere2ForCausalLM DeepseekV2ForCausalLM FalconMambaForCausalLM Gemma2ForCausalLM "
     "GraniteForCausalLM GraniteMoeForCausalLM JambaForCausalLM MambaForCausalLM "
     "MllamaForConditionalGeneration Olmo2ForCausalLM OlmoeForCausalLM PhiMoEForCausalLM "
     "Qwen2VLForConditionalGeneration"},
    {{0, 6, 6},
     "BambaForCausalLM DeepseekV3ForCausalLM InternLM3ForCausalLM Mamba2ForCausalLM "
     "Qwen2_5_VLForConditionalGeneration"},
    {{0, 8, 0},
     "AyaVisionForConditionalGeneration Gemma3ForCausalLM Gemma3ForConditionalGeneration "
     "Llama4ForCausalLM Llama4ForConditionalGeneration MiniMaxText01ForCausalLM "
     "Mistral3ForConditionalGeneration"},
    {{0, 8, 4}, "Glm4ForCausalLM Qwen3ForCausalLM Qwen3MoeForCausalLM"},
    {{0, 9, 0}, "GraniteMoeHybridForCausalLM MiMoForCausalLM"},
    {{0, 9, 1},
     "Dots1ForCausalLM Ernie4_5_MoeForCausalLM MiniMaxM1ForCausalLM NemotronHForCausalLM"},
    {{0, 10, 0}, "ArceeForCausalLM Exaone4ForCausalLM Glm4MoeForCausalLM"},
    {{0, 10, 1}, "Ernie4_5ForCausalLM GptOssForCausalLM SmolLM3ForCausalLM"},
    {{0, 10, 2}, "ApertusForCausalLM Lfm2ForCausalLM Qwen3NextForCausalLM SeedOssForCausalLM"},
    {{0, 11, 0},
     "DeepseekV32ForCausalLM Olmo3ForCausalLM Qwen3VLForConditionalGeneration "
     "Qwen3VLMoeForConditionalGeneration"},
    {{0, 11, 1}, "MiniMaxM2ForCausalLM"},
    {{0, 11, 3},
     "DeepseekV4ForCausalLM Gemma4ForCausalLM Gemma4ForConditionalGeneration "
     "Glm4MoeLiteForCausalLM GlmMoeDsaForCausalLM Ministral3ForCausalLM Qwen3_5ForCausalLM "
     "Qwen3_5ForConditionalGeneration Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration"},
});

bool lists(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || words[at - 1] == ' ';
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

std::optional<Version> first_vllm_release_after(const Release& release,
                                                std::string_view architecture) {
  for (const Served& served : kServed)
    if (!architecture.empty() && lists(served.architectures, architecture))
      return release.of(Package::vllm) < served.since ? std::optional(served.since) : std::nullopt;
  return std::nullopt;
}

}  // namespace memtape
