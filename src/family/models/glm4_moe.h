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
  };
  Glm4MoeConfig(const Config& c, const ModelOptions& options, const Defaults& defaults);

  bool use_qk_norm;
};

}  // namespace memtape::family
