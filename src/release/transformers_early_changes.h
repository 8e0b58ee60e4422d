// SPDX-License-Identifier: Apache-2.0
// What changed in Llama, Mistral and Qwen2 before transformers 4.45, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kHeadsKeepLogits{
    Package::transformers,
    {4, 45, 0},
    "Heads slice the hidden states that they make logits of; before, they took them whole.",
    "models/llama/modeling_llama.py:LlamaForCausalLM.forward, num_logits_to_keep"};

inline constexpr Change kLlamaComputesAngles{
    Package::transformers,
    {4, 38, 0},
    "Llama's attentions compute cos and sin; before, each looked them up in tables of all "
    "positions.",
    "models/llama/modeling_llama.py:LlamaRotaryEmbedding.forward"};

inline constexpr Change kLlamaLeavesTables{
    Package::transformers,
    {4, 41, 0},
    "Llama's attentions hold no tables of cos and sin; since 4.38, nothing read them. They do in "
    "4.40.2 and do not in 4.41.2.",
    "models/llama/modeling_llama.py:LlamaRotaryEmbedding.__init__, _cos_cached"};

inline constexpr Change kLlamaSharesAngles{
    Package::transformers,
    {4, 43, 0},
    "Llama's model computes cos and sin once for all layers. Each attention does in 4.42.4, the "
    "model in 4.43.4.",
    "models/llama/modeling_llama.py:LlamaModel.forward, position_embeddings"};

inline constexpr Change kLlamaUpdatesMasks{
    Package::transformers,
    {4, 38, 0},
    "Llama makes its mask of a buffer of all positions, of which each attention picks its rows; "
    "before, of the tokens alone, and none where sdpa's is_causal suffices.",
    "models/llama/modeling_llama.py:LlamaModel._update_causal_mask"};

inline constexpr Change kLlamaMasksTheSequence{
    Package::transformers,
    {4, 39, 0},
    "Llama makes its mask of the tokens alone.",
    "models/llama/modeling_llama.py:LlamaModel._update_causal_mask"};

inline constexpr Change kLlamaSkipsMasks{
    Package::transformers,
    {4, 40, 0},
    "Llama makes no mask where sdpa's is_causal suffices.",
    "models/llama/modeling_llama.py:LlamaModel._update_causal_mask, _ignore_causal_mask_sdpa"};

inline constexpr Change kPreparedMasksHeedWindows{
    Package::transformers,
    {4, 40, 0},
    "Masks of Mistral and Qwen2 are made under sdpa, too, where the tokens reach the window. They "
    "are not in 4.39.3 and are in 4.40.2.",
    "modeling_attn_mask_utils.py:AttentionMaskConverter._ignore_causal_mask_sdpa"};

inline constexpr Change kMistralComputesAngles{
    Package::transformers,
    {4, 42, 0},
    "Mistral's attentions compute cos and sin, and its model makes its mask as Llama's; before, "
    "each attention looked them up in tables of all positions. They do in 4.41.2 and do not in "
    "4.42.4.",
    "models/mistral/modeling_mistral.py:MistralRotaryEmbedding, MistralModel._update_causal_mask"};

inline constexpr Change kQwen2UpdatesMasks{
    Package::transformers,
    {4, 42, 0},
    "Qwen2 makes its mask as Llama's, and counts positions behind the embedding.",
    "models/qwen2/modeling_qwen2.py:Qwen2Model.forward, _update_causal_mask"};

inline constexpr Change kQwen2ReadsWindowsInUse{
    Package::transformers,
    {4, 43, 0},
    "Qwen2's configuration has a window only where use_sliding_window is true.",
    "models/qwen2/configuration_qwen2.py:Qwen2Config.__init__"};

inline constexpr Change kQwen2ComputesAngles{
    Package::transformers,
    {4, 45, 0},
    "Qwen2 computes cos and sin; before, each attention looked them up in tables of all positions.",
    "models/qwen2/modeling_qwen2.py:Qwen2RotaryEmbedding"};

}  // namespace memtape::changes
