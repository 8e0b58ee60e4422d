// SPDX-License-Identifier: Apache-2.0
// The settings of GLM 4.5, which GLM 4.5V's text model has with defaults of its own. Mirrors
// transformers 5.17 models/glm4_moe/configuration_glm4_moe.py and
// models/glm4v_moe/configuration_glm4v_moe.py.
#pragma once

#include "family/parts/deepseek_moe.h"

namespace memtape::family {

struct Glm4MoeConfig : DeepseekMoeConfig {
  /// The defaults in which the models with these settings differ.
  struct Defaults {
    std::int64_t vocab_size = 151552;
    bool attention_bias = false;
    std::int64_t intermediate_size = 10944, num_hidden_layers = 46, num_attention_heads = 96,
                 num_key_value_heads = 8, moe_intermediate_size = 1408, num_experts_per_tok = 8;
    bool use_qk_norm = false;
    double partial_rotary_factor = 0.5;
  };
  Glm4MoeConfig(const Config& c, const ModelOptions& options, const Defaults& defaults);

  bool use_qk_norm;
};

}  // namespace memtape::family
