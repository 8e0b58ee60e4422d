// SPDX-License-Identifier: Apache-2.0
// litgpt.config.Config (0.5.13, config.py): one decoder-only model whose switches make it Llama,
// Pythia, Phi, Gemma and others. It is read from a Hugging Face config.json, according to what
// litgpt's list says of that architecture. There, the vocabulary is litgpt's padded one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/config.h"

namespace memtape::litgpt {

enum class NormClass { layer_norm, rms_norm };
enum class MlpClass { gpt_neox, llama, gemma };
enum class QkNorm { none, per_head, whole };

struct GptConfig {
  std::int64_t block_size = 4096, n_layer = 16, n_embd = 4096, padded_vocab_size = 50432;
  std::int64_t n_head = 32, head_size = 128, n_query_groups = 32, intermediate_size = 16384;
  std::int64_t rope_n_elem = 32;
  NormClass norm_class = NormClass::layer_norm;
  bool norm_1 = true, norm_2 = true, post_attention_norm = false, post_mlp_norm = false;
  bool parallel_residual = true, shared_attention_norm = false, norm_adds_one = false;
  QkNorm norm_qk = QkNorm::none;
  MlpClass mlp_class = MlpClass::gpt_neox;
  bool bias = true, attn_bias = false, lm_head_bias = false, scale_embeddings = false;
  bool attention_softcaps = false, final_softcaps = false;
  /// Whether the sliding window applies to layer i. If the list is empty, it applies to none.
  std::vector<bool> slides;

  std::int64_t query_size() const { return n_head * head_size; }
  std::int64_t key_size() const { return n_query_groups * head_size; }
};

/// A model_type that litgpt does not have and sizes that do not divide are errors.
Result<GptConfig> read_gpt_config(const Config& config);

}  // namespace memtape::litgpt
