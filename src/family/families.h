// SPDX-License-Identifier: Apache-2.0
// How each family is built from its configuration; registry.cpp lists them by model_type.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

using ModelPointer = std::unique_ptr<PretrainedModel>;

/// The model, or null when reading the configuration found a failure.
template <class Model, class Settings, class... More>
ModelPointer build_checked(const Config& config, const Settings& settings,
                           const ModelOptions& options, const More&... more) {
  if (!config.check()) return nullptr;
  return std::make_unique<Model>(settings, options, more...);
}

ModelPointer build_bloom(const Config& config, const ModelOptions& options);
ModelPointer build_bert(const Config& config, const ModelOptions& options);
ModelPointer build_cohere(const Config& config, const ModelOptions& options);
ModelPointer build_deepseek_v2(const Config& config, const ModelOptions& options);
ModelPointer build_deepseek_v3(const Config& config, const ModelOptions& options);
ModelPointer build_deepseek_v32(const Config& config, const ModelOptions& options);
ModelPointer build_deepseek_v4(const Config& config, const ModelOptions& options);
ModelPointer build_ernie4_5_moe(const Config& config, const ModelOptions& options);
ModelPointer build_falcon(const Config& config, const ModelOptions& options);
ModelPointer build_gemma(const Config& config, const ModelOptions& options);
ModelPointer build_gemma2(const Config& config, const ModelOptions& options);
ModelPointer build_gemma3(const Config& config, const ModelOptions& options);
ModelPointer build_gemma3_text(const Config& config, const ModelOptions& options);
ModelPointer build_gemma4(const Config& config, const ModelOptions& options);
ModelPointer build_gemma4_text(const Config& config, const ModelOptions& options);
ModelPointer build_glm4_moe(const Config& config, const ModelOptions& options);
ModelPointer build_esm(const Config& config, const ModelOptions& options);
ModelPointer build_paligemma(const Config& config, const ModelOptions& options);
ModelPointer build_falcon_h1(const Config& config, const ModelOptions& options);
ModelPointer build_glm4_moe_lite(const Config& config, const ModelOptions& options);
ModelPointer build_youtu(const Config& config, const ModelOptions& options);
ModelPointer build_jais2(const Config& config, const ModelOptions& options);
ModelPointer build_m2m_100(const Config& config, const ModelOptions& options);
ModelPointer build_llava_onevision(const Config& config, const ModelOptions& options);
ModelPointer build_idefics3(const Config& config, const ModelOptions& options);
ModelPointer build_internvl(const Config& config, const ModelOptions& options);
ModelPointer build_glm_moe_dsa(const Config& config, const ModelOptions& options);
ModelPointer build_gpt2(const Config& config, const ModelOptions& options);
ModelPointer build_gpt_neox(const Config& config, const ModelOptions& options);
ModelPointer build_gpt_oss(const Config& config, const ModelOptions& options);
ModelPointer build_gptj(const Config& config, const ModelOptions& options);
ModelPointer build_granite(const Config& config, const ModelOptions& options);
ModelPointer build_llama(const Config& config, const ModelOptions& options);
ModelPointer build_llama4(const Config& config, const ModelOptions& options);
ModelPointer build_llama4_text(const Config& config, const ModelOptions& options);
ModelPointer build_llava(const Config& config, const ModelOptions& options);
ModelPointer build_llava_next(const Config& config, const ModelOptions& options);
ModelPointer build_minimax_m2(const Config& config, const ModelOptions& options);
ModelPointer build_mistral(const Config& config, const ModelOptions& options);
ModelPointer build_ministral3(const Config& config, const ModelOptions& options);
ModelPointer build_mistral3(const Config& config, const ModelOptions& options);
ModelPointer build_mixtral(const Config& config, const ModelOptions& options);
ModelPointer build_falcon_mamba(const Config& config, const ModelOptions& options);
ModelPointer build_mamba(const Config& config, const ModelOptions& options);
ModelPointer build_mamba2(const Config& config, const ModelOptions& options);
ModelPointer build_nemotron_h(const Config& config, const ModelOptions& options);
ModelPointer build_mpt(const Config& config, const ModelOptions& options);
ModelPointer build_mllama(const Config& config, const ModelOptions& options);
ModelPointer build_olmo(const Config& config, const ModelOptions& options);
ModelPointer build_olmo2(const Config& config, const ModelOptions& options);
ModelPointer build_olmo3(const Config& config, const ModelOptions& options);
ModelPointer build_olmoe(const Config& config, const ModelOptions& options);
ModelPointer build_opt(const Config& config, const ModelOptions& options);
ModelPointer build_phi(const Config& config, const ModelOptions& options);
ModelPointer build_phi3(const Config& config, const ModelOptions& options);
ModelPointer build_phimoe(const Config& config, const ModelOptions& options);
ModelPointer build_qwen2(const Config& config, const ModelOptions& options);
ModelPointer build_qwen2_moe(const Config& config, const ModelOptions& options);
ModelPointer build_qwen3(const Config& config, const ModelOptions& options);
ModelPointer build_qwen3_moe(const Config& config, const ModelOptions& options);
ModelPointer build_qwen2_vl(const Config& config, const ModelOptions& options);
ModelPointer build_qwen2_5_vl(const Config& config, const ModelOptions& options);
ModelPointer build_qwen3_5(const Config& config, const ModelOptions& options);
ModelPointer build_qwen3_5_moe(const Config& config, const ModelOptions& options);
ModelPointer build_qwen3_next(const Config& config, const ModelOptions& options);
ModelPointer build_qwen3_vl(const Config& config, const ModelOptions& options);
ModelPointer build_qwen3_vl_moe(const Config& config, const ModelOptions& options);
ModelPointer build_roberta(const Config& config, const ModelOptions& options);
ModelPointer build_smollm3(const Config& config, const ModelOptions& options);
ModelPointer build_stablelm(const Config& config, const ModelOptions& options);
ModelPointer build_starcoder2(const Config& config, const ModelOptions& options);
ModelPointer build_t5(const Config& config, const ModelOptions& options);
ModelPointer build_albert(const Config& config, const ModelOptions& options);
ModelPointer build_bart(const Config& config, const ModelOptions& options);
ModelPointer build_gpt_neo(const Config& config, const ModelOptions& options);
ModelPointer build_mbart(const Config& config, const ModelOptions& options);
ModelPointer build_clip(const Config& config, const ModelOptions& options);
ModelPointer build_deberta_v2(const Config& config, const ModelOptions& options);
ModelPointer build_pegasus(const Config& config, const ModelOptions& options);
ModelPointer build_vit(const Config& config, const ModelOptions& options);
ModelPointer build_whisper(const Config& config, const ModelOptions& options);
ModelPointer build_modernbert(const Config& config, const ModelOptions& options);
ModelPointer build_arcee(const Config& config, const ModelOptions& options);
ModelPointer build_apertus(const Config& config, const ModelOptions& options);
ModelPointer build_bamba(const Config& config, const ModelOptions& options);
ModelPointer build_codegen(const Config& config, const ModelOptions& options);
ModelPointer build_cwm(const Config& config, const ModelOptions& options);
ModelPointer build_marian(const Config& config, const ModelOptions& options);
ModelPointer build_xglm(const Config& config, const ModelOptions& options);
ModelPointer build_seed_oss(const Config& config, const ModelOptions& options);
ModelPointer build_ministral(const Config& config, const ModelOptions& options);
ModelPointer build_glm(const Config& config, const ModelOptions& options);
ModelPointer build_glm4(const Config& config, const ModelOptions& options);
ModelPointer build_exaone4(const Config& config, const ModelOptions& options);
ModelPointer build_hunyuan_v1_moe(const Config& config, const ModelOptions& options);
ModelPointer build_hunyuan_v1_dense(const Config& config, const ModelOptions& options);
ModelPointer build_helium(const Config& config, const ModelOptions& options);
ModelPointer build_ernie4_5(const Config& config, const ModelOptions& options);
ModelPointer build_cohere2(const Config& config, const ModelOptions& options);
ModelPointer build_dots1(const Config& config, const ModelOptions& options);
ModelPointer build_granitemoe(const Config& config, const ModelOptions& options);
ModelPointer build_nemotron(const Config& config, const ModelOptions& options);
ModelPointer build_jamba(const Config& config, const ModelOptions& options);
ModelPointer build_distilbert(const Config& config, const ModelOptions& options);
ModelPointer build_gpt_bigcode(const Config& config, const ModelOptions& options);
ModelPointer build_xlm_roberta(const Config& config, const ModelOptions& options);
ModelPointer build_granitemoehybrid(const Config& config, const ModelOptions& options);
ModelPointer build_dbrx(const Config& config, const ModelOptions& options);
ModelPointer build_electra(const Config& config, const ModelOptions& options);
ModelPointer build_lfm2(const Config& config, const ModelOptions& options);

}  // namespace memtape::family
