// SPDX-License-Identifier: Apache-2.0
// The dense decoders, and what several families read from a configuration in the same way.
#pragma once

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/models/decoder.h"

namespace memtape::vllm {

/// The heads that config.json names, divided over the ranks.
Heads config_heads(const Place& place);
/// config.layer_types[index]; it is "" if there are none.
std::string layer_type(const Config& config, std::int64_t index);
/// The window of a sliding layer, or 0 for a full one.
std::int64_t layer_window(const Config& config, std::int64_t index);
/// The same. If the file has no types, the pattern of the configuration class counts.
std::string gemma_layer_type(const Config& config, std::int64_t index);

/// Attention and a gated MLP, as most dense families have them.
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
