// SPDX-License-Identifier: Apache-2.0
// Encoders of text that vLLM serves for embeddings and scores: BERT and RoBERTa
// (vllm/model_executor/models/bert.py, roberta.py). Their attention needs no KV cache
// (EncoderOnlyAttention.get_kv_cache_spec).
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

std::unique_ptr<ServedModel> make_bert(const Place& place);

/// Whether the configuration's architecture is such an encoder.
bool encodes_text(const Config& config);

/// The tokens of the longest text: RoBERTa's positions begin behind that of the padding.
std::int64_t longest_text(const Config& config);

}  // namespace memtape::vllm
