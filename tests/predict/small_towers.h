// SPDX-License-Identifier: Apache-2.0
// Small configurations of models whose towers stand behind their text model.
#pragma once

#include <string_view>

namespace memtape {

inline constexpr std::string_view kSmallLfm3Vl =
    R"("text_config": {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "sliding_window": 16},
           "vision_config": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
                         "num_attention_heads": 4, "num_key_value_heads": 2, "patch_size": 8},
           "projector_hidden_size": 80)";

/// The looped variant reads where its loop lies.
inline constexpr std::string_view kSmallInkling2 =
    R"("text_config": {"vocab_size": 512, "unpadded_vocab_size": 500, "hidden_size": 128, "num_hidden_layers": 6,
                         "n_layers_per_attn_res_block": 2, "loop_layer_index_start": 2, "loop_layer_index_end": 4,
                         "loop_gate_rank": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
                         "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 32,
                         "sliding_window_size": 16, "rel_extent": 16, "n_routed_experts": 8,
                         "num_experts_per_tok": 2, "moe_intermediate_size": 64},
           "vision_config": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "patch_size": 8,
                         "posemb_grid_size": 8, "projection_hidden_dim": 96, "text_hidden_size": 128})";

inline constexpr std::string_view kSmallDots3Note =
    R"("vocab_size": 512, "pad_token_id": 0, "hidden_size": 128, "intermediate_size": 256,
                         "moe_intermediate_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4,
                         "num_key_value_heads": 4, "n_routed_experts": 8, "num_experts_per_tok": 2,
                         "kv_lora_rank": 32, "q_lora_rank": 48, "qk_rope_head_dim": 16, "v_head_dim": 16,
                         "qk_nope_head_dim": 16, "head_dim": 32, "index_topk": 16, "index_head_dim": 16,
                         "index_n_heads": 2, "shared_experts_intermediate_size": 64, "sliding_window": 16,
                         "swa_num_attention_heads": 2, "swa_num_key_value_heads": 2, "swa_q_lora_rank": 40,
                         "swa_kv_lora_rank": 24, "swa_head_dim": 32, "swa_qk_nope_head_dim": 16,
                         "swa_v_head_dim": 16,
           "vision_config": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
                         "num_attention_heads": 4, "patch_size": 8, "moe_intermediate_size": 48,
                         "pyramid_num_routed": [-1, 4, 8], "adapter_in_dim": 64, "adapter_out_dim": 128},
           "audio_config": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "feature_size": 16, "downsample_hidden_size": 24,
                         "adapter_input_size": 64, "adapter_out_dim": 128})";

inline constexpr std::string_view kSmallApertus1p5 =
    R"("text_config": {"vocab_size": 512, "output_vocab_size": 400, "hidden_size": 128, "intermediate_size": 256,
                         "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2},
           "vision_config": {"codebook_size": 64, "embed_dim": 32, "latent_channels": 32, "base_channels": 32,
                         "channel_multiplier": [1, 1, 2], "num_res_blocks": 2, "attn_resolutions": [8],
                         "resolution": 32},
           "audio_config": {"num_filters": 8, "upsampling_ratios": [4, 3], "hidden_size": 32, "codebook_dim": 32,
                         "codebook_size": 32})";

}  // namespace memtape
