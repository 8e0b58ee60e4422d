// SPDX-License-Identifier: Apache-2.0
// The decoders with experts: Mixtral, Qwen 2 and 3 MoE, PhiMoE, GLM-4.5, ERNIE 4.5, DeepSeek V2 and
// V3 (with Kimi K2), Ling and Ring (bailing_moe), and gpt-oss.
#pragma once

#include "framework/vllm/models/decoder.h"

namespace memtape::vllm {

/// The feed-forward part of a Qwen layer: either experts with a gated shared expert, or a dense
/// MLP.
Block qwen_feed_forward(const Place& layer, std::int64_t index, bool quantized_gate);

/// These layers occur in predictors of later tokens, too.
LayerBlocks glm4_moe_blocks(const Place& layer, std::int64_t index);
LayerBlocks deepseek_blocks(const Place& layer, std::int64_t index);

std::unique_ptr<ServedModel> make_mixtral(const Place& place);
std::unique_ptr<ServedModel> make_phimoe(const Place& place);
std::unique_ptr<ServedModel> make_qwen3_moe(const Place& place);
std::unique_ptr<ServedModel> make_glm4_moe(const Place& place);
std::unique_ptr<ServedModel> make_ernie45_moe(const Place& place);
std::unique_ptr<ServedModel> make_deepseek(const Place& place);
std::unique_ptr<ServedModel> make_minimax_m2(const Place& place);
std::unique_ptr<ServedModel> make_olmoe(const Place& place);
std::unique_ptr<ServedModel> make_granite_moe(const Place& place);
std::unique_ptr<ServedModel> make_bailing_moe(const Place& place);
std::unique_ptr<ServedModel> make_gpt_oss(const Place& place);

}  // namespace memtape::vllm
