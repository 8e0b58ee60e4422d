// SPDX-License-Identifier: Apache-2.0
// The dense decoders, and what families read from a configuration alike.
#pragma once

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/models/decoder.h"

namespace memtape::vllm {

/// Heads as config.json has them, cut over the ranks.
Heads config_heads(const Place& place);
/// config.layer_types[index]; "" where there are none.
std::string layer_type(const Config& config, std::int64_t index);
/// The window of a sliding layer; 0 of a full one.
std::int64_t layer_window(const Config& config, std::int64_t index);
/// The same, with the configuration classes' own pattern where the file has none.
std::string gemma_layer_type(const Config& config, std::int64_t index);

/// Attention and a gated MLP as most dense families have them.
LayerBlocks dense_blocks(const Place& place, const AttentionBlockOptions& attention,
                         const MlpOptions& mlp);

/// A layer of Qwen 2, or of MiMo's predictor.
LayerBlocks qwen2_blocks(const Place& layer, std::int64_t index);

std::unique_ptr<ServedModel> make_llama(const Place& place);
std::unique_ptr<ServedModel> make_qwen2(const Place& place);
std::unique_ptr<ServedModel> make_qwen3(const Place& place);
std::unique_ptr<ServedModel> make_gemma(const Place& place);
std::unique_ptr<ServedModel> make_gemma2(const Place& place);
std::unique_ptr<ServedModel> make_stablelm(const Place& place);
std::unique_ptr<ServedModel> make_internlm2(const Place& place);
std::unique_ptr<ServedModel> make_deci(const Place& place);
std::unique_ptr<ServedModel> make_granite(const Place& place);

}  // namespace memtape::vllm
