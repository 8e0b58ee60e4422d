// SPDX-License-Identifier: Apache-2.0
// The families there are. A new one is a file of its own and a line here.
#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "family/latest_families.h"
#include "family/models/remote_code.h"
#include "family/more_families.h"
#include "family/parts/classifiers.h"
#include "family/pretrained.h"

namespace memtape::family {
namespace {

constexpr std::array kFamilies{
    Family{"gptj", Task::causal_lm, build_gptj},
    Family{"mpt", Task::causal_lm, build_mpt},
    Family{"falcon", Task::causal_lm, build_falcon},
    Family{"bloom", Task::causal_lm, build_bloom},
    Family{"cohere", Task::causal_lm, build_cohere},
    Family{"phi", Task::causal_lm, build_phi},
    Family{"gemma", Task::causal_lm, build_gemma},
    Family{"gemma3_text", Task::causal_lm, build_gemma3_text},
    Family{"gemma4", Task::causal_lm, build_gemma4},
    Family{"gemma4_text", Task::causal_lm, build_gemma4_text},
    Family{"granite", Task::causal_lm, build_granite},
    Family{"olmo", Task::causal_lm, build_olmo},
    Family{"olmo3", Task::causal_lm, build_olmo3},
    Family{"smollm3", Task::causal_lm, build_smollm3},
    Family{"stablelm", Task::causal_lm, build_stablelm},
    Family{"starcoder2", Task::causal_lm, build_starcoder2},
    Family{"deepseek_v2", Task::causal_lm, build_deepseek_v2},
    Family{"deepseek_v3", Task::causal_lm, build_deepseek_v3},
    Family{"glm4_moe", Task::causal_lm, build_glm4_moe},
    Family{"gpt_oss", Task::causal_lm, build_gpt_oss},
    Family{"llama4", Task::causal_lm, build_llama4},
    Family{"llama4_text", Task::causal_lm, build_llama4_text},
    Family{"deepseek_v32", Task::causal_lm, build_deepseek_v32},
    Family{"glm_moe_dsa", Task::causal_lm, build_glm_moe_dsa},
    Family{"deepseek_v4", Task::causal_lm, build_deepseek_v4},
    Family{"minimax_m2", Task::causal_lm, build_minimax_m2},
    Family{"ernie4_5_moe", Task::causal_lm, build_ernie4_5_moe},
    Family{"mllama", Task::causal_lm, build_mllama},
    Family{"roberta", Task::masked_lm, build_roberta},
    Family{"t5", Task::seq2seq_lm, build_t5},
    Family{"bert", Task::masked_lm, build_bert},
    Family{"opt", Task::causal_lm, build_opt},
    Family{"gemma2", Task::causal_lm, build_gemma2},
    Family{"gpt2", Task::causal_lm, build_gpt2},
    Family{"gpt_neox", Task::causal_lm, build_gpt_neox},
    Family{"llama", Task::causal_lm, build_llama},
    Family{"mistral", Task::causal_lm, build_mistral},
    Family{"qwen2_moe", Task::causal_lm, build_qwen2_moe},
    Family{"qwen3_moe", Task::causal_lm, build_qwen3_moe},
    Family{"olmoe", Task::causal_lm, build_olmoe},
    Family{"phimoe", Task::causal_lm, build_phimoe},
    Family{"mixtral", Task::causal_lm, build_mixtral},
    Family{"olmo2", Task::causal_lm, build_olmo2},
    Family{"phi3", Task::causal_lm, build_phi3},
    Family{"qwen2", Task::causal_lm, build_qwen2},
    Family{"qwen3", Task::causal_lm, build_qwen3},
    Family{"arcee", Task::causal_lm, build_arcee},
    Family{"seed_oss", Task::causal_lm, build_seed_oss},
    Family{"ministral", Task::causal_lm, build_ministral},
    Family{"glm", Task::causal_lm, build_glm},
    Family{"glm4", Task::causal_lm, build_glm4},
    Family{"exaone4", Task::causal_lm, build_exaone4},
    Family{"hunyuan_v1_dense", Task::causal_lm, build_hunyuan_v1_dense},
    Family{"hunyuan_v1_moe", Task::causal_lm, build_hunyuan_v1_moe},
    Family{"helium", Task::causal_lm, build_helium},
    Family{"ernie4_5", Task::causal_lm, build_ernie4_5},
    Family{"cohere2", Task::causal_lm, build_cohere2},
    Family{"dots1", Task::causal_lm, build_dots1},
    Family{"granitemoe", Task::causal_lm, build_granitemoe},
    Family{"nemotron", Task::causal_lm, build_nemotron},
    Family{"granitemoeshared", Task::causal_lm, build_granitemoe},
    Family{"jamba", Task::causal_lm, build_jamba},
    Family{"gpt_bigcode", Task::causal_lm, build_gpt_bigcode},
    Family{"distilbert", Task::masked_lm, build_distilbert},
    Family{"xlm-roberta", Task::masked_lm, build_xlm_roberta},
    Family{"camembert", Task::masked_lm, build_xlm_roberta},
    Family{"mt5", Task::seq2seq_lm, build_t5},
    Family{"umt5", Task::seq2seq_lm, build_t5},
    Family{"bart", Task::seq2seq_lm, build_bart},
    Family{"mbart", Task::seq2seq_lm, build_mbart},
    Family{"pegasus", Task::seq2seq_lm, build_pegasus},
    Family{"albert", Task::masked_lm, build_albert},
    Family{"deberta-v2", Task::masked_lm, build_deberta_v2},
    Family{"modernbert", Task::masked_lm, build_modernbert},
    Family{"gpt_neo", Task::causal_lm, build_gpt_neo},
    Family{"vit", Task::image_classification, build_vit},
    Family{"whisper", Task::speech_seq2seq, build_whisper},
    Family{"clip", Task::zero_shot_image_classification, build_clip},
    Family{"granitemoehybrid", Task::causal_lm, build_granitemoehybrid},
    Family{"dbrx", Task::causal_lm, build_dbrx},
    Family{"electra", Task::masked_lm, build_electra},
    Family{"lfm2", Task::causal_lm, build_lfm2},
    Family{"apertus", Task::causal_lm, build_apertus},
    Family{"bamba", Task::causal_lm, build_bamba},
    Family{"codegen", Task::causal_lm, build_codegen},
    Family{"cwm", Task::causal_lm, build_cwm},
    Family{"marian", Task::seq2seq_lm, build_marian},
    Family{"ministral3", Task::causal_lm, build_ministral3},
    Family{"xglm", Task::causal_lm, build_xglm},
    // Code of hub repositories, by its nearest family (remote_code.h).
    Family{"baichuan", Task::causal_lm, build_baichuan},
    Family{"chatglm", Task::causal_lm, build_chatglm},
    Family{"deepseek", Task::causal_lm, build_deepseek},
    Family{"internlm2", Task::causal_lm, build_internlm2},
    Family{"kimi_k2", Task::causal_lm, build_deepseek_v3},
    Family{"mimo", Task::causal_lm, build_qwen2},
    Family{"qwen", Task::causal_lm, build_qwen},
    Family{"qwen3_next", Task::causal_lm, build_qwen3_next},
    Family{"qwen3_5", Task::causal_lm, build_qwen3_5},
    Family{"qwen3_5_moe", Task::causal_lm, build_qwen3_5_moe},
    Family{"mamba", Task::causal_lm, build_mamba},
    Family{"falcon_mamba", Task::causal_lm, build_falcon_mamba},
    Family{"mamba2", Task::causal_lm, build_mamba2},
    Family{"nemotron_h", Task::causal_lm, build_nemotron_h},
    Family{"llava", Task::image_text_to_text, build_llava},
    Family{"llava_next", Task::image_text_to_text, build_llava_next},
    Family{"gemma3", Task::image_text_to_text, build_gemma3},
    Family{"mistral3", Task::image_text_to_text, build_mistral3},
    Family{"qwen2_vl", Task::image_text_to_text, build_qwen2_vl},
    Family{"qwen2_5_vl", Task::image_text_to_text, build_qwen2_5_vl},
    Family{"qwen3_vl", Task::image_text_to_text, build_qwen3_vl},
    Family{"qwen3_vl_moe", Task::image_text_to_text, build_qwen3_vl_moe},
    Family{"falcon_h1", Task::causal_lm, build_falcon_h1},
    Family{"glm4_moe_lite", Task::causal_lm, build_glm4_moe_lite},
    Family{"youtu", Task::causal_lm, build_youtu},
    Family{"jais2", Task::causal_lm, build_jais2},
    Family{"m2m_100", Task::seq2seq_lm, build_m2m_100},
    Family{"llava_onevision", Task::image_text_to_text, build_llava_onevision},
    Family{"idefics3", Task::image_text_to_text, build_idefics3},
    Family{"smolvlm", Task::image_text_to_text, build_idefics3},
    Family{"internvl", Task::image_text_to_text, build_internvl},
    Family{"esm", Task::masked_lm, build_esm},
    Family{"mpnet", Task::masked_lm, build_mpnet},
    Family{"data2vec-text", Task::masked_lm, build_data2vec_text},
    Family{"ernie", Task::masked_lm, build_ernie},
    Family{"lfm2_moe", Task::causal_lm, build_lfm2_moe},
    Family{"exaone_moe", Task::causal_lm, build_exaone_moe},
    Family{"solar_open", Task::causal_lm, build_solar_open},
    Family{"vaultgemma", Task::causal_lm, build_vaultgemma},
    Family{"flex_olmo", Task::causal_lm, build_flex_olmo},
    Family{"glm4v", Task::image_text_to_text, build_glm4v},
    Family{"glm4v_moe", Task::image_text_to_text, build_glm4v_moe},
    Family{"glm46v", Task::image_text_to_text, build_glm46v},
    Family{"glm_ocr", Task::image_text_to_text, build_glm_ocr},
    Family{"llava_next_video", Task::image_text_to_text, build_llava_next_video},
    Family{"vipllava", Task::image_text_to_text, build_vipllava},
    Family{"qwen3_5_text", Task::causal_lm, build_qwen3_5_text},
    Family{"qwen3_5_moe_text", Task::causal_lm, build_qwen3_5_moe_text},
    Family{"plbart", Task::seq2seq_lm, build_plbart},
    Family{"paligemma", Task::image_text_to_text, build_paligemma},
    Family{"bitnet", Task::causal_lm, build_bitnet},
    Family{"nanochat", Task::causal_lm, build_nanochat},
    Family{"gpt-sw3", Task::causal_lm, build_gpt2},
    Family{"hyperclovax", Task::causal_lm, build_hyperclovax},
    Family{"hy_v3", Task::causal_lm, build_hy_v3},
    Family{"mellum", Task::causal_lm, build_mellum},
    Family{"minicpm3", Task::causal_lm, build_minicpm3},
    Family{"cohere2_moe", Task::causal_lm, build_cohere2_moe},
    Family{"eurobert", Task::masked_lm, build_eurobert},
    Family{"lfm2_vl", Task::image_text_to_text, build_lfm2_vl},
    Family{"deberta", Task::masked_lm, build_deberta},
    Family{"nomic_bert", Task::masked_lm, build_nomic_bert},
    Family{"jina_embeddings_v3", Task::masked_lm, build_jina_embeddings_v3},
    Family{"afmoe", Task::causal_lm, build_afmoe},
    Family{"deit", Task::image_classification, build_deit},
    Family{"dinov2", Task::image_classification, build_dinov2},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

Result<const Family*> find_family(const Config& config, Task task) {
  const std::string model_type = config.text("model_type", "");
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) {
    const bool is_there =
        is_classification(task) ? has_classifier(model_type, task) : family.task == task;
    if (family.model_type == model_type && is_there) return &family;
    names.push_back(family.model_type);
  }
  if (std::ranges::find(names, model_type) != names.end())
    return unsupported("no such head on a model of family \"" + model_type + "\"", "--task",
                       "leave it out for the one the family has");
  return unsupported("unknown model family \"" + model_type + "\"", config.where() + ": model_type",
                     suggestion(model_type, names));
}

}  // namespace memtape::family
