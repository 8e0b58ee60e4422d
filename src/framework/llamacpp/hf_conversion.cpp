// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/hf_conversion.h"

#include <algorithm>
#include <array>

#include "framework/llamacpp/arch/architectures.h"
#include "framework/llamacpp/hf_converter.h"
#include "model/type_of.h"

namespace memtape::llamacpp {
namespace {

void as_is(Converter&) {}

void windowed(Converter& w) { w.copy("attention.sliding_window", "sliding_window"); }

void gemma2(Converter& w) {
  windowed(w);
  w.otherwise("attention.sliding_window", 4096);
  w.otherwise("attention.key_length", 256);
  w.otherwise("attention.value_length", 256);
}

/// Published configs leave out what is as in Gemma3TextConfig.
void gemma3(Converter& w) {
  windowed(w);
  w.otherwise("context_length", 131072);
  w.otherwise("attention.head_count", 8);
  w.otherwise("attention.head_count_kv", 4);
  w.otherwise("attention.key_length", 256);
  w.otherwise("attention.value_length", 256);
  w.otherwise("attention.sliding_window", 4096);
  w.copy_real("final_logit_softcapping", "final_logit_softcapping");
}

void gpt_oss(Converter& w) {
  windowed(w);
  w.copy("expert_feed_forward_length", "intermediate_size");
  w.otherwise("attention.key_length", 64);
  w.otherwise("attention.value_length", 64);
}

void qwen2_moe(Converter& w) {
  w.copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

void cohere(Converter& w) {
  windowed(w);
  w.set_real("logit_scale", w.c.number("logit_scale", 0.0625));
}

void granite(Converter& w) {
  w.copy_real("residual_scale", "residual_multiplier");
  w.copy_real("embedding_scale", "embedding_multiplier");
  w.copy("expert_shared_feed_forward_length", "shared_intermediate_size");
}

void routed(Converter& w) {
  w.copy("expert_shared_count", "n_shared_experts");
  w.copy("expert_group_count", "n_group");
  w.copy("expert_group_used_count", "topk_group");
  w.copy_real("expert_weights_scale", "routed_scaling_factor");
  w.set("leading_dense_block_count", w.c.count("first_k_dense_replace", 0));
  w.set("expert_weights_norm", w.c.boolean("norm_topk_prob", false) ? 1 : 0);
}

void deepseek(Converter& w) {
  routed(w);
  const std::int64_t kv = w.c.dimension("kv_lora_rank", 512);
  const std::int64_t nope = w.c.dimension("qk_nope_head_dim", 128);
  const std::int64_t rotated = w.c.dimension("qk_rope_head_dim", 64);
  w.copy("attention.q_lora_rank", "q_lora_rank");
  w.set("attention.kv_lora_rank", kv);
  w.set("attention.head_count_kv", 1);
  w.set("attention.key_length", kv + rotated);
  w.set("attention.value_length", kv);
  w.set("attention.key_length_mla", nope + rotated);
  w.set("attention.value_length_mla", w.c.dimension("v_head_dim", 128));
  w.set("rope.dimension_count", rotated);
  const bool third = type_of(w.c) == "deepseek_v3";
  const std::string scores = w.c.text("scoring_func", third ? "sigmoid" : "softmax");
  w.set("expert_gating_func", scores == "sigmoid" ? 2 : 1);
}

/// DeepSeek V3.2 and GLM 5: the indexer, and draft blocks behind the layers.
void sparse(Converter& w) {
  deepseek(w);
  const std::int64_t drafts = w.c.count("num_nextn_predict_layers", 0);
  w.set("block_count", w.c.layers("num_hidden_layers") + drafts);
  w.set("nextn_predict_layers", drafts);
  w.set("attention.indexer.head_count", w.c.dimension("index_n_heads"));
  w.set("attention.indexer.key_length", w.c.dimension("index_head_dim"));
  w.set("attention.indexer.top_k", w.c.dimension("index_topk"));
  std::vector<std::int64_t> full;
  for (const std::string& type : w.c.texts("indexer_types")) full.push_back(type == "full" ? 1 : 0);
  if (!full.empty()) w.set_array("attention.indexer.types", std::move(full));
}

void kimi_linear(Converter& w) {
  deepseek(w);
  const Config linear = w.c.object("linear_attn_config");
  const std::vector<std::int64_t> full = linear.integers("full_attn_layers");
  std::vector<std::int64_t> heads;
  for (std::int64_t il = 1; il <= w.c.layers("num_hidden_layers"); ++il)
    heads.push_back(std::ranges::find(full, il) == full.end() ? 0 : 1);
  w.set_array("attention.head_count_kv", std::move(heads));
  w.set("ssm.conv_kernel", linear.dimension("short_conv_kernel_size"));
  w.set("kda.head_dim", linear.dimension("head_dim"));
  w.copy("expert_used_count", "num_experts_per_token");
  w.copy("expert_shared_count", "num_shared_experts");
  w.set("expert_gating_func", 2);
}

void minicpm3(Converter& w) {
  const std::int64_t rotated = w.c.dimension("qk_rope_head_dim");
  w.copy("attention.q_lora_rank", "q_lora_rank");
  w.copy("attention.kv_lora_rank", "kv_lora_rank");
  w.set("attention.key_length", w.c.dimension("qk_nope_head_dim") + rotated);
  w.set("rope.dimension_count", rotated);
}

void modern_bert(Converter& w) {
  w.copy("attention.sliding_window", "local_attention");
  w.copy("attention.sliding_window_pattern", "global_attn_every_n_layers");
}

void glm4_moe(Converter& w) {
  routed(w);
  const std::int64_t drafts = w.c.count("num_nextn_predict_layers", 0);
  w.set("block_count", w.c.layers("num_hidden_layers") + drafts);
  w.set("nextn_predict_layers", drafts);
  w.set("expert_gating_func", 2);
  w.partial_rotation(0.5);
}

void minimax_m2(Converter& w) {
  w.copy("expert_feed_forward_length", "intermediate_size");
  w.copy("rope.dimension_count", "rotary_dim");
  w.set("expert_gating_func", w.c.text("scoring_func", "sigmoid") == "sigmoid" ? 2 : 1);
}

void dots1(Converter& w) {
  routed(w);
  w.set("expert_gating_func", 2);
}

void ernie(Converter& w) {
  w.copy("expert_count", "moe_num_experts");
  w.copy("expert_used_count", "moe_k");
  w.copy("interleave_moe_layer_step", "moe_layer_interval");
  w.set("leading_dense_block_count", w.c.count("moe_layer_start_index", 1));
  const std::int64_t shared = w.c.count("moe_num_shared_experts", 0);
  if (shared > 0)
    w.set("expert_shared_feed_forward_length", shared * w.c.dimension("moe_intermediate_size"));
}

/// Where a config leaves the class's default; --ctx-size is given then.
void ministral(Converter& w) {
  const Config rope = w.c.object("rope_parameters");
  if (const auto scale = rope.optional_number("llama_4_scaling_beta"))
    w.set_real("attention.temperature_scale", *scale);
}

constexpr std::int64_t kUsualContext = 32768;

struct ConfigKind {
  std::string_view model_type, arch;
  bool tied;  ///< what the config's class says where the file does not
  void (*write)(Converter&);
};

constexpr std::array kConfigKinds{
    ConfigKind{"llama", "llama", false, as_is},
    ConfigKind{"mistral", "llama", false, as_is},
    ConfigKind{"mixtral", "llama", false, as_is},
    ConfigKind{"qwen2", "qwen2", false, as_is},
    ConfigKind{"qwen2_moe", "qwen2moe", false, qwen2_moe},
    ConfigKind{"qwen3", "qwen3", false, as_is},
    ConfigKind{"qwen3_moe", "qwen3moe", false, as_is},
    ConfigKind{"qwen3_5", "qwen35", false, convert_delta_net},
    ConfigKind{"qwen3_5_text", "qwen35", false, convert_delta_net},
    ConfigKind{"qwen3_5_moe", "qwen35moe", false, convert_delta_net},
    ConfigKind{"qwen3_5_moe_text", "qwen35moe", false, convert_delta_net},
    ConfigKind{"phi3", "phi3", false, as_is},
    ConfigKind{"gemma", "gemma", true, gemma2},
    ConfigKind{"gemma2", "gemma2", true, gemma2},
    ConfigKind{"gemma3", "gemma3", true, gemma3},
    ConfigKind{"gemma3_text", "gemma3", true, gemma3},
    ConfigKind{"olmo2", "olmo2", false, as_is},
    ConfigKind{"olmo3", "olmo2", false, windowed},
    ConfigKind{"olmoe", "olmoe", false, as_is},
    ConfigKind{"gpt_oss", "gpt-oss", false, gpt_oss},
    ConfigKind{"cohere", "command-r", true, cohere},
    ConfigKind{"cohere2", "cohere2", true, cohere},
    ConfigKind{"deepseek_v2", "deepseek2", false, deepseek},
    ConfigKind{"deepseek_v3", "deepseek2", false, deepseek},
    ConfigKind{"kimi_k2", "deepseek2", false, deepseek},
    ConfigKind{"glm4_moe", "glm4moe", false, glm4_moe},
    ConfigKind{"glm4", "glm4", false, as_is},
    ConfigKind{"minimax_m2", "minimax-m2", false, minimax_m2},
    ConfigKind{"dots1", "dots1", false, dots1},
    ConfigKind{"ernie4_5", "ernie4_5", true, as_is},
    ConfigKind{"ernie4_5_moe", "ernie4_5-moe", true, ernie},
    ConfigKind{"seed_oss", "seed_oss", false, as_is},
    ConfigKind{"internlm2", "internlm2", false, as_is},
    ConfigKind{"granite", "granite", false, granite},
    ConfigKind{"granitemoe", "granitemoe", false, granite},
    ConfigKind{"granitemoeshared", "granitemoe", false, granite},
    ConfigKind{"smollm3", "smollm3", true, as_is},
    ConfigKind{"starcoder2", "starcoder2", true, as_is},
    ConfigKind{"kimi_k25", "deepseek2", false, deepseek},
    ConfigKind{"deepseek_v32", "deepseek32", false, sparse},
    ConfigKind{"glm_moe_dsa", "glm-dsa", false, sparse},
    ConfigKind{"kimi_linear", "kimi-linear", false, kimi_linear},
    ConfigKind{"minicpm3", "minicpm3", true, minicpm3},
    ConfigKind{"modernbert", "modern-bert", true, modern_bert},
    ConfigKind{"arctic", "arctic", false, as_is},
    ConfigKind{"deepseek", "deepseek", false, routed},
    ConfigKind{"qwen", "qwen", false, as_is},
    ConfigKind{"baichuan", "baichuan", false, as_is},
    ConfigKind{"dbrx", "dbrx", false, convert_dbrx},
    ConfigKind{"falcon_mamba", "mamba", false, convert_falcon_mamba},
    ConfigKind{"qwen3_next", "qwen3next", false, convert_delta_net},
    ConfigKind{"qwen2_vl", "qwen2vl", false, as_is},
    ConfigKind{"qwen2_5_vl", "qwen2vl", false, as_is},
    ConfigKind{"qwen3_vl", "qwen3vl", false, as_is},
    ConfigKind{"qwen3_vl_moe", "qwen3vlmoe", false, as_is},
    ConfigKind{"ministral3", "mistral3", false, ministral},
    ConfigKind{"llama4", "llama4", false, convert_llama4},
    ConfigKind{"llama4_text", "llama4", false, convert_llama4},
    ConfigKind{"gemma3n", "gemma3n", true, convert_gemma3n},
    ConfigKind{"gemma3n_text", "gemma3n", true, convert_gemma3n},
    ConfigKind{"gemma4", "gemma4", true, convert_gemma4},
    ConfigKind{"gemma4_text", "gemma4", true, convert_gemma4},
    ConfigKind{"jamba", "jamba", false, convert_jamba},
    ConfigKind{"falcon_h1", "falcon-h1", false, convert_falcon_h1},
    ConfigKind{"granitemoehybrid", "granitehybrid", true, convert_granite_hybrid},
    ConfigKind{"nemotron-nas", "deci", false, convert_deci},
    ConfigKind{"nemotron_h", "nemotron_h", false, convert_nemotron_h},
    ConfigKind{"lfm2", "lfm2", true, convert_lfm2},
    ConfigKind{"lfm2_moe", "lfm2moe", true, convert_lfm2},
    ConfigKind{"gpt2", "gpt2", true, convert_gpt2},
    ConfigKind{"gpt_bigcode", "starcoder", true, convert_gpt_bigcode},
    ConfigKind{"gpt_neox", "gptneox", false, convert_neox},
    ConfigKind{"bloom", "bloom", true, convert_bloom},
    ConfigKind{"mpt", "mpt", true, convert_mpt},
    ConfigKind{"falcon", "falcon", false, convert_falcon},
    ConfigKind{"phi", "phi2", false, convert_phi},
    ConfigKind{"phimoe", "phimoe", false, as_is},
    ConfigKind{"stablelm", "stablelm", false, convert_stablelm},
    ConfigKind{"nemotron", "nemotron", false, convert_nemotron},
    ConfigKind{"olmo", "olmo", false, convert_olmo},
    ConfigKind{"exaone", "exaone", false, as_is},
    ConfigKind{"exaone4", "exaone4", false, windowed},
    ConfigKind{"apertus", "apertus", false, as_is},
    ConfigKind{"arcee", "arcee", false, as_is},
    ConfigKind{"hunyuan_v1_dense", "hunyuan-dense", false, as_is},
    ConfigKind{"bert", "bert", true, convert_bert},
    ConfigKind{"nomic_bert", "nomic-bert", true, convert_bert},
    ConfigKind{"mamba", "mamba", true, convert_mamba},
    ConfigKind{"mamba2", "mamba2", false, convert_mamba2}};

}  // namespace

Result<Converted> convert(const Config& config) {
  std::string type = type_of(config);
  if (type == "mistral3") type = config.object("text_config").text("model_type", "mistral");
  const auto kind = std::ranges::find(kConfigKinds, type, &ConfigKind::model_type);
  if (kind == kConfigKinds.end()) {
    return unsupported("model_type \"" + type + "\" has no llama.cpp architecture that is modelled",
                       config.where());
  }
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  const bool experts = type == "nemotron_h" && text.count("n_routed_experts", 0) > 0;
  Converter writer(text, experts ? "nemotron_h_moe" : kind->arch);
  writer.common();
  kind->write(writer);
  writer.otherwise("context_length", kUsualContext);
  // The experts are written as they are; the rest as llama-quantize's MXFP4_MOE has it, which is
  // what ggml-org's files of these models hold (12.1 GB for gpt-oss-20b).
  constexpr std::int64_t kMxfp4Moe = 38;
  if (config.object("quantization_config").text("quant_method", "") == "mxfp4")
    writer.out.metadata.values["general.file_type"].integer = kMxfp4Moe;
  writer.out.choices.tied =
      text.boolean("tie_word_embeddings", config.boolean("tie_word_embeddings", kind->tied));
  if (const Result<void> read = config.check(); !read) return tl::unexpected(read.error());
  return std::move(writer.out);
}

}  // namespace memtape::llamacpp
