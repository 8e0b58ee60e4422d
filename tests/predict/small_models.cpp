// SPDX-License-Identifier: Apache-2.0
#include "small_models.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "family/registry.h"
#include "framework/torch/built_parameters.h"
#include "small_towers.h"

namespace memtape {
namespace {

/// Settings that differ from the defaults below, by model_type.
struct Special {
  std::string_view model_type, settings, layers_key = "num_hidden_layers";
};

constexpr std::string_view kCommon =
    R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256,
  "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256)";

/// GLM's models of images and text without experts.
constexpr std::string_view kGlmVision =
    R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2,
                         "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 4, 4]}},
           "vision_config": {"depth": 2, "hidden_size": 64, "intermediate_size": 96, "num_heads": 4,
                         "out_hidden_size": 128, "image_size": 56, "patch_size": 14})";

constexpr std::array kSpecials{
    Special{"gpt2",
            R"("vocab_size": 512, "n_embd": 128, "n_layer": 8, "n_head": 4, "n_positions": 256)",
            "n_layer"},
    Special{"gpt-sw3",
            R"("vocab_size": 512, "n_embd": 128, "n_layer": 8, "n_head": 4, "n_positions": 256)",
            "n_layer"},
    Special{
        "hy_v3",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "num_experts_per_tok": 2, "num_experts": 8, "moe_intermediate_size": 64)"},
    Special{
        "mellum",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "num_experts_per_tok": 2, "num_experts": 8, "moe_intermediate_size": 64)"},
    Special{
        "qwen",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "kv_channels": 32, "max_position_embeddings": 256)"},
    Special{
        "opt",
        R"("vocab_size": 512, "hidden_size": 128, "ffn_dim": 256, "num_hidden_layers": 8, "num_attention_heads": 4,
                      "word_embed_proj_dim": 128, "max_position_embeddings": 256)"},
    Special{
        "deepseek_v2",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_experts_per_tok": 2, "n_routed_experts": 8,
                         "moe_intermediate_size": 64, "q_lora_rank": null, "kv_lora_rank": 32,
                         "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32)"},
    Special{
        "deepseek_v3",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "moe_intermediate_size": 64,
                         "first_k_dense_replace": 0, "q_lora_rank": 48, "kv_lora_rank": 32,
                         "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32)"},
    Special{
        "glm4_moe",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "moe_intermediate_size": 64, "first_k_dense_replace": 0)"},
    Special{
        "glm_moe_dsa",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "moe_intermediate_size": 64, "first_k_dense_replace": 0,
                         "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
                         "v_head_dim": 32, "index_topk": 16, "index_head_dim": 32, "index_n_heads": 2)"},
    Special{
        "deepseek_v32",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "moe_intermediate_size": 64,
                         "first_k_dense_replace": 0, "q_lora_rank": 48, "kv_lora_rank": 32,
                         "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "index_topk": 16,
                         "index_head_dim": 32, "index_n_heads": 2)"},
    Special{
        "deepseek_v4",
        R"("vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4,
                         "head_dim": 64, "qk_rope_head_dim": 16, "q_lora_rank": 48, "o_groups": 2,
                         "o_lora_rank": 32, "num_experts_per_tok": 2, "n_routed_experts": 8,
                         "moe_intermediate_size": 64, "num_hash_layers": 0, "index_n_heads": 2,
                         "index_head_dim": 32, "index_topk": 8, "sliding_window": 16, "hc_sinkhorn_iters": 3,
                         "compress_ratios": [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4])"},
    Special{
        "gpt_oss",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "num_experts_per_tok": 2, "num_local_experts": 8, "sliding_window": 16)"},
    Special{"llama4",
            R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 64,
                         "intermediate_size_mlp": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
                         "num_key_value_heads": 2, "head_dim": 32, "num_local_experts": 4})"},
    Special{
        "llama4_text",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 64, "intermediate_size_mlp": 256,
                         "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
                         "head_dim": 32, "num_local_experts": 4)"},
    Special{
        "chatglm",
        R"("padded_vocab_size": 512, "hidden_size": 128, "ffn_hidden_size": 256, "num_layers": 8,
                         "num_attention_heads": 4, "kv_channels": 32, "multi_query_attention": true,
                         "multi_query_group_num": 2, "add_bias_linear": false, "add_qkv_bias": true)",
        "num_layers"},
    Special{
        "deepseek",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_experts_per_tok": 2, "n_routed_experts": 8,
                         "moe_intermediate_size": 64)"},
    Special{
        "kimi_k2",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 64,
                         "first_k_dense_replace": 0, "q_lora_rank": 48, "kv_lora_rank": 32,
                         "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32)"},
    Special{
        "minimax_m2",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "num_experts_per_tok": 2, "num_local_experts": 8)"},
    Special{
        "ernie4_5_moe",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "moe_k": 2, "moe_num_experts": 8,
                         "moe_intermediate_size": 64, "moe_layer_start_index": 0)"},
    Special{
        "mllama",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "cross_attention_layers": [1],
                         "max_position_embeddings": 256})"},
    Special{
        "sarvam_mla",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "moe_intermediate_size": 64,
                         "first_k_dense_replace": 0, "kv_lora_rank": 32,
                         "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32)"},
    Special{"t5",
            R"("vocab_size": 512, "d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 8,
                         "num_decoder_layers": 4, "num_heads": 4)",
            "num_layers"},
    Special{
        "qwen3_next",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                         "linear_key_head_dim": 16, "linear_value_head_dim": 16, "num_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64,
                         "shared_expert_intermediate_size": 64)"},
    Special{
        "qwen3_5",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                         "linear_key_head_dim": 16, "linear_value_head_dim": 16})"},
    Special{"qwen3_5_moe",
            R"("text_config": {"vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                         "linear_key_head_dim": 16, "linear_value_head_dim": 16, "num_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64,
                         "shared_expert_intermediate_size": 64})"},
    Special{
        "mamba2",
        R"("vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 8, "num_heads": 8, "head_dim": 32,
                         "state_size": 16, "n_groups": 2, "chunk_size": 16)"},
    Special{
        "nemotron_h",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 4,
                         "num_key_value_heads": 2, "head_dim": 32, "mamba_num_heads": 8, "mamba_head_dim": 32,
                         "ssm_state_size": 16, "n_groups": 2, "chunk_size": 16,
                         "hybrid_override_pattern": "M-M*-M-")"},
    Special{
        "llava",
        R"("text_config": {"model_type": "llama", "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256,
                         "num_hidden_layers": 4, "num_attention_heads": 4},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "image_size": 56, "patch_size": 14})"},
    Special{
        "llava_next",
        R"("text_config": {"model_type": "mistral", "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256,
                         "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2},
           "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 64, "intermediate_size": 128,
                         "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 56, "patch_size": 14})"},
    Special{
        "falcon_h1",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "mamba_d_ssm": 256,
                         "mamba_n_heads": 8, "mamba_d_state": 16)"},
    Special{
        "glm4_moe_lite",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "moe_intermediate_size": 64,
                         "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 32,
                         "qk_rope_head_dim": 16, "v_head_dim": 32,
                         "mlp_layer_types": ["sparse", "sparse", "sparse", "sparse", "sparse", "sparse", "sparse", "sparse"])"},
    Special{
        "youtu",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 48,
                         "kv_lora_rank": 32, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32)"},
    Special{"m2m_100",
            R"("vocab_size": 512, "d_model": 128, "encoder_layers": 8, "decoder_layers": 4,
                         "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 256,
                         "decoder_ffn_dim": 256, "encoder_layerdrop": 0, "decoder_layerdrop": 0,
                         "max_position_embeddings": 256)",
            "encoder_layers"},
    Special{
        "llava_onevision",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14})"},
    Special{
        "idefics3",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14})"},
    Special{
        "smolvlm",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14})"},
    Special{
        "internvl",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14})"},
    Special{
        "paligemma",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14}, "projection_dim": 128)"},
    Special{
        "gemma3",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "sliding_window": 16},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14, "vision_use_head": false})"},
    Special{
        "mistral3",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": null},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "patch_size": 14})"},
    Special{
        "ministral3",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32)"},
    Special{
        "qwen2_vl",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2,
           "vision_config": {"depth": 2, "embed_dim": 64, "hidden_size": 128, "num_heads": 4})"},
    Special{
        "qwen2_5_vl",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2,
           "vision_config": {"depth": 2, "hidden_size": 64, "intermediate_size": 96,
                         "out_hidden_size": 128, "num_heads": 4})"},
    Special{
        "qwen3_vl",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32},
           "vision_config": {"depth": 2, "hidden_size": 64, "intermediate_size": 96, "num_heads": 4,
                         "out_hidden_size": 128, "num_position_embeddings": 64,
                         "deepstack_visual_indexes": [1]})"},
    Special{
        "qwen3_vl_moe",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64},
           "vision_config": {"depth": 2, "hidden_size": 64, "intermediate_size": 96, "num_heads": 4,
                         "out_hidden_size": 128, "num_position_embeddings": 64,
                         "deepstack_visual_indexes": [1]})"},
    Special{
        "gemma4",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "global_head_dim": 64,
                         "hidden_size_per_layer_input": 0, "enable_moe_block": true, "num_experts": 8,
                         "top_k_experts": 2, "moe_intermediate_size": 64},
           "vision_config": {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16,
                         "position_embedding_size": 64})"},
    Special{
        "gemma4_text",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "global_head_dim": 64,
                         "hidden_size_per_layer_input": 0)"},
    Special{
        "helium",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32)"},
    Special{
        "ministral",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32)"},
    Special{
        "dots1",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts_per_tok": 2,
                         "n_routed_experts": 8, "moe_intermediate_size": 64)"},
    Special{
        "granitemoehybrid",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "shared_intermediate_size": 96,
                         "mamba_n_heads": 8, "mamba_d_state": 16, "mamba_chunk_size": 16)"},
    Special{"dbrx",
            R"("vocab_size": 512, "d_model": 128, "n_heads": 4, "n_layers": 8,
                         "attn_config": {"kv_n_heads": 2, "clip_qkv": 8},
                         "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2})",
            "n_layers"},
    Special{
        "hunyuan_v1_moe",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 8, "moe_topk": 2)"},
    Special{"umt5",
            R"("vocab_size": 512, "d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 8,
                         "num_decoder_layers": 4, "num_heads": 4)",
            "num_layers"},
    Special{"gpt_neo",
            R"("vocab_size": 512, "hidden_size": 128, "num_layers": 8, "num_heads": 4,
                         "attention_types": [[["global", "local"], 4]], "max_position_embeddings": 256)",
            "num_layers"},
    Special{"bart",
            R"("vocab_size": 512, "d_model": 128, "encoder_layers": 8, "decoder_layers": 4,
                         "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "max_position_embeddings": 256)",
            "encoder_layers"},
    Special{"mbart",
            R"("vocab_size": 512, "d_model": 128, "encoder_layers": 8, "decoder_layers": 4,
                         "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "max_position_embeddings": 256)",
            "encoder_layers"},
    Special{"plbart",
            R"("vocab_size": 512, "d_model": 128, "encoder_layers": 8, "decoder_layers": 4,
                         "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "max_position_embeddings": 256)",
            "encoder_layers"},
    Special{"pegasus",
            R"("vocab_size": 512, "d_model": 128, "encoder_layers": 8, "decoder_layers": 4,
                         "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "max_position_embeddings": 256)",
            "encoder_layers"},
    Special{"deit",
            R"("hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "image_size": 64)"},
    Special{"dinov2",
            R"("hidden_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4,
                         "image_size": 56)"},
    Special{"vit",
            R"("hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "image_size": 64)"},
    Special{"whisper",
            R"("vocab_size": 512, "num_mel_bins": 40, "d_model": 128, "encoder_layers": 8,
                         "decoder_layers": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "max_source_positions": 100)",
            "encoder_layers"},
    Special{
        "clip",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "image_size": 64})"},
    Special{"mt5",
            R"("vocab_size": 512, "d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 8,
                         "num_decoder_layers": 4, "num_heads": 4)",
            "num_layers"},
    Special{"marian",
            R"("vocab_size": 512, "d_model": 128, "encoder_layers": 8, "decoder_layers": 4,
                         "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "max_position_embeddings": 256)",
            "encoder_layers"},
    Special{"xglm",
            R"("vocab_size": 512, "d_model": 128, "ffn_dim": 256, "num_layers": 8,
                         "attention_heads": 4, "max_position_embeddings": 256)",
            "num_layers"},
    Special{"codegen",
            R"("vocab_size": 512, "n_embd": 128, "n_layer": 8, "n_head": 4, "n_positions": 256,
                         "rotary_dim": 16)",
            "n_layer"},
    Special{
        "bamba",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "attn_layer_indices": [3, 7],
                         "mamba_n_heads": 8, "mamba_d_state": 16)"},
    Special{
        "lfm2_moe",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 8, "num_experts_per_tok": 2,
                         "moe_intermediate_size": 64, "num_dense_layers": 0,
                         "layer_types": ["conv", "conv", "full_attention", "conv", "conv", "full_attention", "conv", "full_attention"])"},
    Special{
        "exaone_moe",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 8, "num_experts_per_tok": 2,
                         "moe_intermediate_size": 64, "first_k_dense_replace": 0, "sliding_window": 16)"},
    Special{
        "solar_open",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2,
                         "moe_intermediate_size": 64)"},
    Special{
        "flex_olmo",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 8, "num_experts_per_tok": 2, "pad_token_id": 0)"},
    Special{
        "vaultgemma",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "sliding_window": 16)"},
    Special{"glm4v", kGlmVision},
    Special{"glm46v", kGlmVision},
    Special{"glm_ocr", kGlmVision},
    Special{
        "glm4v_moe",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "n_routed_experts": 8, "num_experts_per_tok": 2,
                         "moe_intermediate_size": 64, "first_k_dense_replace": 0,
                         "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2]}},
           "vision_config": {"depth": 2, "hidden_size": 64, "intermediate_size": 96, "num_heads": 4,
                         "out_hidden_size": 128, "image_size": 56, "patch_size": 14})"},
    Special{
        "qwen3_5_text",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                         "linear_key_head_dim": 16, "linear_value_head_dim": 16)"},
    Special{"qwen3_5_moe_text",
            R"("vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                         "linear_key_head_dim": 16, "linear_value_head_dim": 16, "num_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64,
                         "shared_expert_intermediate_size": 64)"},
    Special{
        "llava_next_video",
        R"("text_config": {"model_type": "llama", "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256,
                         "num_hidden_layers": 4, "num_attention_heads": 4},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14})"},
    Special{
        "vipllava",
        R"("text_config": {"model_type": "llama", "vocab_size": 512, "hidden_size": 128, "intermediate_size": 256,
                         "num_hidden_layers": 4, "num_attention_heads": 4},
           "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "image_size": 56, "patch_size": 14})"},
    Special{
        "afmoe",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_experts": 8, "num_experts_per_tok": 2,
                         "moe_intermediate_size": 64, "num_dense_layers": 0, "sliding_window": 16)"},
    Special{
        "cohere2_moe",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_experts": 8, "num_experts_per_tok": 2,
                         "sliding_window": 16)"},
    Special{
        "minicpm3",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 48, "kv_lora_rank": 32,
                         "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32)"},
    Special{
        "lfm2_vl",
        R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2},
           "vision_config": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "patch_size": 8, "num_patches": 16}, "projector_hidden_size": 80)"},
    Special{"lfm3_vl", kSmallLfm3Vl},
    Special{"inkling2", kSmallInkling2},
    Special{"inkling2_loop", kSmallInkling2},
    Special{"dots3_note", kSmallDots3Note},
    Special{"apertus1p5", kSmallApertus1p5},
    Special{
        "deberta",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "max_position_embeddings": 256, "relative_attention": true,
                         "pos_att_type": "c2p|p2c", "position_biased_input": false)"},
    Special{
        "gptj",
        R"("vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4,
                         "n_positions": 256, "rotary_dim": 16)"},
    Special{
        "gemma2",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32)"},
    Special{
        "flint",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64, "mlp_only_layers": [],
                         "shared_expert_intermediate_size": 64, "sliding_window": 16)"},
    Special{"dots3_note_text",
            R"("vocab_size": 512, "pad_token_id": 0, "hidden_size": 128, "intermediate_size": 256,
                         "moe_intermediate_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4,
                         "num_key_value_heads": 4, "n_routed_experts": 8, "num_experts_per_tok": 2,
                         "kv_lora_rank": 32, "q_lora_rank": 48, "qk_rope_head_dim": 16, "v_head_dim": 16,
                         "qk_nope_head_dim": 16, "head_dim": 32, "index_topk": 16, "index_head_dim": 16,
                         "index_n_heads": 2, "shared_experts_intermediate_size": 64, "sliding_window": 16,
                         "swa_num_attention_heads": 2, "swa_num_key_value_heads": 2, "swa_q_lora_rank": 40,
                         "swa_kv_lora_rank": 24, "swa_head_dim": 32, "swa_qk_nope_head_dim": 16,
                         "swa_v_head_dim": 16)"},
    Special{
        "inkling2_text",
        R"("vocab_size": 512, "unpadded_vocab_size": 500, "hidden_size": 128, "num_hidden_layers": 6,
                         "n_layers_per_attn_res_block": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                         "head_dim": 32, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2,
                         "swa_head_dim": 32, "sliding_window_size": 16, "rel_extent": 16, "n_routed_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64)"},
    Special{
        "inkling2_loop_text",
        R"("vocab_size": 512, "unpadded_vocab_size": 500, "hidden_size": 128, "num_hidden_layers": 6,
                         "n_layers_per_attn_res_block": 2, "loop_layer_index_start": 2, "loop_layer_index_end": 4,
                         "loop_gate_rank": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 32,
                         "sliding_window_size": 16, "rel_extent": 16, "n_routed_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64)"},
    Special{"lara_mini",
            R"("vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                         "linear_key_head_dim": 16, "linear_value_head_dim": 16, "num_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64,
                         "shared_expert_intermediate_size": 64, "sliding_window": 16)"},
    Special{
        "lfm3",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "sliding_window": 16)"},
    Special{
        "ultrabert",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "prediction_head_size": 64, "sliding_window": 16)"},
    Special{
        "dory",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "n_input_layers": 2, "n_output_layers": 2, "sliding_window": 16)"},
    Special{
        "beam",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64, "n_group": 4, "topk_group": 2,
                         "mlp_layer_types": ["sparse", "sparse", "sparse", "sparse", "sparse", "sparse", "sparse", "sparse"],
                         "sliding_window": 16)"},
    Special{
        "bailing_hybrid",
        R"("vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 8,
                         "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "num_experts_per_tok": 2,
                         "num_local_experts": 8, "n_group": 4, "topk_group": 2, "moe_intermediate_size": 64,
                         "first_k_dense_replace": 0, "layer_group_size": 4, "kv_lora_rank": 32,
                         "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32)"},
};

SmallModel small_model(const family::FamilyFacts& family) {
  SmallModel model{.name = std::string(family.model_type),
                   .json = std::string(kCommon),
                   .layers_key = "num_hidden_layers",
                   .task = Task::causal_lm};
  for (const Special& special : kSpecials) {
    if (special.model_type != family.model_type) continue;
    model.json = special.settings;
    model.layers_key = special.layers_key;
  }
  model.task = family.task;
  model.json = "{\"model_type\": \"" + model.name + "\", " + model.json + "}";
  std::replace(model.name.begin(), model.name.end(), '-', '_');  // GoogleTest's names
  return model;
}

}  // namespace

std::vector<SmallModel> small_models() {
  std::vector<SmallModel> models;
  for (const family::FamilyFacts* family : family::families())
    models.push_back(small_model(*family));
  return models;
}

}  // namespace memtape
