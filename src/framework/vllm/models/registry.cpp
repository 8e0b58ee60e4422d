// SPDX-License-Identifier: Apache-2.0
// vllm/model_executor/models/registry.py: the class that serves an architecture.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "framework/vllm/models/classic.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/further_dense.h"
#include "framework/vllm/models/gemma4.h"
#include "framework/vllm/models/hybrid.h"
#include "framework/vllm/models/llama4.h"
#include "framework/vllm/models/model.h"
#include "framework/vllm/models/moe.h"
#include "framework/vllm/models/transformers_backend.h"

namespace memtape::vllm {
namespace {

struct Row {
  std::string_view architecture;
  ModelFactory make;
};

constexpr std::array kModels{
    Row{"LlamaForCausalLM", make_llama},
    Row{"LLaMAForCausalLM", make_llama},
    Row{"InternLM3ForCausalLM", make_llama},
    Row{"TeleChat3ForCausalLM", make_llama},
    Row{"MistralForCausalLM", make_llama},
    Row{"Ministral3ForCausalLM", make_llama},
    Row{"Phi3ForCausalLM", make_llama},
    Row{"Ernie4_5ForCausalLM", make_llama},
    Row{"IQuestCoderForCausalLM", make_llama},
    Row{"Glm4ForCausalLM", make_glm4},
    Row{"ExaoneForCausalLM", make_exaone},
    Row{"Exaone4ForCausalLM", make_exaone4},
    Row{"Qwen2ForCausalLM", make_qwen2},
    Row{"Qwen3ForCausalLM", make_qwen3},
    Row{"GemmaForCausalLM", make_gemma},
    Row{"Gemma2ForCausalLM", make_gemma2},
    Row{"Gemma3ForCausalLM", make_gemma2},
    Row{"GraniteForCausalLM", make_granite},
    Row{"GPT2LMHeadModel", make_gpt2},
    Row{"FalconForCausalLM", make_falcon},
    Row{"Olmo2ForCausalLM", make_olmo2},
    Row{"Olmo3ForCausalLM", make_olmo2},
    Row{"Starcoder2ForCausalLM", make_starcoder2},
    Row{"GPTNeoXForCausalLM", make_gpt_neox},
    Row{"PhiForCausalLM", make_phi},
    Row{"MixtralForCausalLM", make_mixtral},
    Row{"PhiMoEForCausalLM", make_phimoe},
    Row{"Qwen2MoeForCausalLM", make_qwen3_moe},
    Row{"Qwen3MoeForCausalLM", make_qwen3_moe},
    Row{"Glm4MoeForCausalLM", make_glm4_moe},
    Row{"Ernie4_5_MoeForCausalLM", make_ernie45_moe},
    Row{"DeepseekV2ForCausalLM", make_deepseek},
    Row{"DeepseekV3ForCausalLM", make_deepseek},
    Row{"DeepseekV32ForCausalLM", make_deepseek},
    Row{"GlmMoeDsaForCausalLM", make_deepseek},
    Row{"Llama4ForCausalLM", make_llama4},
    Row{"Gemma4ForCausalLM", make_gemma4},
    Row{"DeciLMForCausalLM", make_deci},
    Row{"DbrxForCausalLM", make_dbrx},
    Row{"ChatGLMModel", make_chatglm},
    Row{"ChatGLMForConditionalGeneration", make_chatglm},
    Row{"OPTForCausalLM", make_opt},
    Row{"BloomForCausalLM", make_bloom},
    Row{"CohereForCausalLM", make_cohere},
    Row{"Cohere2ForCausalLM", make_cohere},
    Row{"StableLmForCausalLM", make_stablelm},
    Row{"InternLM2ForCausalLM", make_internlm2},
    Row{"MiMoForCausalLM", make_qwen2},
    Row{"DeepseekForCausalLM", make_deepseek},
    Row{"MiniMaxM2ForCausalLM", make_minimax_m2},
    Row{"OlmoeForCausalLM", make_olmoe},
    Row{"GraniteMoeForCausalLM", make_granite_moe},
    Row{"SmolLM3ForCausalLM", make_smollm3},
    Row{"OlmoForCausalLM", make_olmo},
    Row{"ArceeForCausalLM", make_arcee},
    Row{"SeedOssForCausalLM", make_seed_oss},
    Row{"GptOssForCausalLM", make_gpt_oss},
    Row{"MambaForCausalLM", make_mamba},
    Row{"FalconMambaForCausalLM", make_mamba},
    Row{"Mamba2ForCausalLM", make_mamba2},
    Row{"NemotronHForCausalLM", make_nemotron_h},
    Row{"JambaForCausalLM", make_jamba},
    Row{"Qwen3_5ForCausalLM", make_qwen3_next},
    Row{"Qwen3_5MoeForCausalLM", make_qwen3_next},

    Row{"Qwen3NextForCausalLM", make_qwen3_next},
};

/// _PREVIOUSLY_SUPPORTED_MODELS: the last release that served an architecture.
struct Dropped {
  std::string_view architecture, last;
};
constexpr auto kDropped = std::to_array<Dropped>({
    {"MotifForCausalLM", "0.10.2"},
    {"Phi3SmallForCausalLM", "0.9.2"},
    {"Phi4FlashForCausalLM", "0.10.2"},
    {"Phi4MultimodalForCausalLM", "0.12.0"},
    {"JAISLMHeadModel", "0.22.0"},
    {"ErnieModel", "0.23.0"},
    {"ErnieForSequenceClassification", "0.23.0"},
    {"ErnieForTokenClassification", "0.23.0"},
    {"InternLM2VEForCausalLM", "0.23.0"},
    {"QWenLMHeadModel", "0.23.0"},
    {"QwenVLForConditionalGeneration", "0.23.0"},
    {"InternLMForCausalLM", "0.23.0"},
    {"DonutForConditionalGeneration", "0.10.2"},
    {"MllamaForConditionalGeneration", "0.10.2"},
    {"XverseForCausalLM", "0.23.0"},
    {"Dots1ForCausalLM", "0.23.0"},
    {"BambaForCausalLM", "0.23.0"},
    {"MiniMaxForCausalLM", "0.23.0"},
    {"MiniMaxText01ForCausalLM", "0.23.0"},
    {"MiniMaxM1ForCausalLM", "0.23.0"},
    {"MiniMaxVL01ForConditionalGeneration", "0.23.0"},
    {"BaiChuanForCausalLM", "0.23.0"},
    {"BaichuanForCausalLM", "0.23.0"},
    {"AquilaModel", "0.24.0"},
    {"AquilaForCausalLM", "0.24.0"},
    {"Grok1ModelForCausalLM", "0.24.0"},
    {"Grok1ForCausalLM", "0.24.0"},
    {"TarsierForConditionalGeneration", "0.24.0"},
    {"Tarsier2ForConditionalGeneration", "0.23.0"},
    {"MantisForConditionalGeneration", "0.24.0"},
    {"MusicFlamingoForConditionalGeneration", "0.24.0"},
    {"AyaVisionForConditionalGeneration", "0.24.0"},
    {"TeleChatForCausalLM", "0.25.0"},
    {"PersimmonForCausalLM", "0.25.0"},
    {"FuyuForCausalLM", "0.25.0"},
    {"Plamo2ForCausalLM", "0.26.0"},
    {"OuroForCausalLM", "0.26.0"},
    {"ArcticForCausalLM", "0.28.0"},
    {"ChameleonForConditionalGeneration", "0.28.0"},
    {"Cheers", "0.28.0"},
    {"CheersForConditionalGeneration", "0.28.0"},
    {"Fairseq2LlamaForCausalLM", "0.28.0"},
    {"FireRedLIDForConditionalGeneration", "0.28.0"},
    {"GritLM", "0.28.0"},
    {"HCXVisionForCausalLM", "0.28.0"},
    {"MPTForCausalLM", "0.28.0"},
    {"MptForCausalLM", "0.28.0"},
    {"RWForCausalLM", "0.28.0"},
    {"StableLMEpochForCausalLM", "0.28.0"},
    {"PrithviGeoSpatialMAE", "0.28.0"},
});

}  // namespace

Result<ModelFactory> model_factory(const Config& config) {
  const std::vector<std::string> names = config.texts("architectures");
  std::vector<std::string_view> known;
  for (const Row& row : kModels) {
    known.push_back(row.architecture);
    for (const std::string& name : names)
      if (name == row.architecture) return row.make;
  }
  const std::string named = names.empty() ? "none" : names.front();
  const auto dropped = std::ranges::find(kDropped, named, &Dropped::architecture);
  if (dropped != kDropped.end())
    return unsupported("architecture " + named + " is not modelled: vLLM served it up to " +
                           std::string(dropped->last),
                       config.where(), "a model that vLLM 0.32 serves");
  return unsupported("architecture " + named + " is not modelled for vLLM", config.where(),
                     suggestion(named, known));
}

}  // namespace memtape::vllm
