// SPDX-License-Identifier: Apache-2.0
// vllm/model_executor/models/registry.py: the class that serves an architecture.
#include <array>

#include "base/text.h"
#include "framework/vllm/models/classic.h"
#include "framework/vllm/models/dense.h"
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
  return unsupported("architecture " + named + " is not modelled for vLLM", config.where(),
                     suggestion(named, known));
}

}  // namespace memtape::vllm
