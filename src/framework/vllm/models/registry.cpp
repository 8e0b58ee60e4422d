// SPDX-License-Identifier: Apache-2.0
// vllm/model_executor/models/registry.py: the class that serves an architecture.
#include <algorithm>
#include <array>

#include "framework/vllm/models/bert.h"
#include "framework/vllm/models/classic.h"
#include "framework/vllm/models/deepseek_v4.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/models/further_dense.h"
#include "framework/vllm/models/gemma4.h"
#include "framework/vllm/models/hybrid.h"
#include "framework/vllm/models/llama4.h"
#include "framework/vllm/models/model.h"
#include "framework/vllm/models/modernbert.h"
#include "framework/vllm/models/moe.h"
#include "framework/vllm/models/transformers_backend.h"

namespace memtape::vllm {
namespace {

struct ModelRow {
  std::string_view architecture;
  ModelFactory make;
};

constexpr std::array kModels{
    ModelRow{"LlamaForCausalLM", make_llama},
    ModelRow{"LLaMAForCausalLM", make_llama},
    ModelRow{"InternLM3ForCausalLM", make_llama},
    ModelRow{"TeleChat3ForCausalLM", make_llama},
    ModelRow{"MistralForCausalLM", make_llama},
    ModelRow{"Ministral3ForCausalLM", make_llama},
    ModelRow{"Phi3ForCausalLM", make_llama},
    ModelRow{"Ernie4_5ForCausalLM", make_llama},
    ModelRow{"IQuestCoderForCausalLM", make_llama},
    ModelRow{"Glm4ForCausalLM", make_glm4},
    ModelRow{"ExaoneForCausalLM", make_exaone},
    ModelRow{"Exaone4ForCausalLM", make_exaone4},
    ModelRow{"Qwen2ForCausalLM", make_qwen2},
    ModelRow{"Qwen3ForCausalLM", make_qwen3},
    ModelRow{"GemmaForCausalLM", make_gemma},
    ModelRow{"Gemma2ForCausalLM", make_gemma2},
    ModelRow{"Gemma3ForCausalLM", make_gemma2},
    ModelRow{"GraniteForCausalLM", make_granite},
    ModelRow{"GPT2LMHeadModel", make_gpt2},
    ModelRow{"FalconForCausalLM", make_falcon},
    ModelRow{"Olmo2ForCausalLM", make_olmo2},
    ModelRow{"Olmo3ForCausalLM", make_olmo2},
    ModelRow{"Starcoder2ForCausalLM", make_starcoder2},
    ModelRow{"GPTNeoXForCausalLM", make_gpt_neox},
    ModelRow{"PhiForCausalLM", make_phi},
    ModelRow{"MixtralForCausalLM", make_mixtral},
    ModelRow{"PhiMoEForCausalLM", make_phimoe},
    ModelRow{"Qwen2MoeForCausalLM", make_qwen3_moe},
    ModelRow{"Qwen3MoeForCausalLM", make_qwen3_moe},
    ModelRow{"Glm4MoeForCausalLM", make_glm4_moe},
    ModelRow{"Ernie4_5_MoeForCausalLM", make_ernie45_moe},
    ModelRow{"DeepseekV2ForCausalLM", make_deepseek},
    ModelRow{"DeepseekV3ForCausalLM", make_deepseek},
    ModelRow{"DeepseekV32ForCausalLM", make_deepseek},
    ModelRow{"GlmMoeDsaForCausalLM", make_deepseek},
    ModelRow{"Glm4MoeLiteForCausalLM", make_deepseek},
    ModelRow{"DeepseekV4ForCausalLM", make_deepseek_v4},
    ModelRow{"Llama4ForCausalLM", make_llama4},
    ModelRow{"Gemma4ForCausalLM", make_gemma4},
    ModelRow{"DeciLMForCausalLM", make_deci},
    ModelRow{"DbrxForCausalLM", make_dbrx},
    ModelRow{"ChatGLMModel", make_chatglm},
    ModelRow{"ChatGLMForConditionalGeneration", make_chatglm},
    ModelRow{"OPTForCausalLM", make_opt},
    ModelRow{"BloomForCausalLM", make_bloom},
    ModelRow{"CohereForCausalLM", make_cohere},
    ModelRow{"Cohere2ForCausalLM", make_cohere},
    ModelRow{"StableLmForCausalLM", make_stablelm},
    ModelRow{"InternLM2ForCausalLM", make_internlm2},
    ModelRow{"MiMoForCausalLM", make_qwen2},
    ModelRow{"DeepseekForCausalLM", make_deepseek},
    ModelRow{"MiniMaxM2ForCausalLM", make_minimax_m2},
    ModelRow{"OlmoeForCausalLM", make_olmoe},
    ModelRow{"GraniteMoeForCausalLM", make_granite_moe},
    ModelRow{"SmolLM3ForCausalLM", make_smollm3},
    ModelRow{"OlmoForCausalLM", make_olmo},
    ModelRow{"ArceeForCausalLM", make_arcee},
    ModelRow{"SeedOssForCausalLM", make_seed_oss},
    ModelRow{"BailingMoeForCausalLM", make_bailing_moe},
    ModelRow{"BailingMoeV2ForCausalLM", make_bailing_moe},
    ModelRow{"GptOssForCausalLM", make_gpt_oss},
    ModelRow{"MambaForCausalLM", make_mamba},
    ModelRow{"FalconMambaForCausalLM", make_mamba},
    ModelRow{"Mamba2ForCausalLM", make_mamba2},
    ModelRow{"NemotronHForCausalLM", make_nemotron_h},
    ModelRow{"JambaForCausalLM", make_jamba},
    ModelRow{"Lfm2ForCausalLM", make_lfm2},
    ModelRow{"GraniteMoeHybridForCausalLM", make_granite_hybrid},
    ModelRow{"Qwen3_5ForCausalLM", make_qwen3_next},
    ModelRow{"Qwen3_5MoeForCausalLM", make_qwen3_next},
    ModelRow{"Qwen3NextForCausalLM", make_qwen3_next},
    ModelRow{"ApertusForCausalLM", make_apertus},
    ModelRow{"BertModel", make_bert},
    ModelRow{"BertForSequenceClassification", make_bert},
    ModelRow{"BertForTokenClassification", make_bert},
    ModelRow{"ModernBertModel", make_modernbert},
    ModelRow{"ModernBertForSequenceClassification", make_modernbert},
    ModelRow{"ModernBertForTokenClassification", make_modernbert},
    ModelRow{"RobertaModel", make_bert},
    ModelRow{"RobertaForMaskedLM", make_bert},
    ModelRow{"RobertaForSequenceClassification", make_bert},
    ModelRow{"RobertaForTokenClassification", make_bert},
    ModelRow{"XLMRobertaModel", make_bert},
    ModelRow{"XLMRobertaForSequenceClassification", make_bert},
    ModelRow{"XLMRobertaForTokenClassification", make_bert},
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
  for (const ModelRow& row : kModels)
    if (std::ranges::find(names, row.architecture) != names.end()) return row.make;
  const std::string named = names.empty() ? "none" : names.front();
  const auto dropped = std::ranges::find(kDropped, named, &Dropped::architecture);
  if (dropped != kDropped.end())
    return unsupported("architecture " + named + " is not modelled: vLLM served it up to " +
                           std::string(dropped->last),
                       config.where(), "a model that vLLM 0.32 serves");
  return unsupported("architecture " + named + " is not modelled for vLLM and SGLang",
                     config.where());
}

}  // namespace memtape::vllm
