// SPDX-License-Identifier: Apache-2.0
// What torchtune's builders (models/llama2, llama3, llama3_1, llama3_2, mistral;
// *_component_builders.py of 0.6.1) are given: the sizes of one TransformerDecoder. They are read
// from a Hugging Face config.json.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/config.h"

namespace memtape::torchtune {

struct DecoderArgs {
  std::int64_t vocab_size = 32000, num_layers = 32, num_heads = 32, num_kv_heads = 32;
  std::int64_t embed_dim = 4096, head_dim = 128, intermediate_dim = 11008, max_seq_len = 4096;
  bool is_tied = false;  ///< TiedLinear: the head multiplies by the table of the tokens

  std::int64_t q_per_kv() const { return num_heads / num_kv_heads; }
};

/// A model_type that is not one of these and sizes that do not divide are errors.
Result<DecoderArgs> read_decoder_args(const Config& config);

}  // namespace memtape::torchtune
