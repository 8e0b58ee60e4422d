// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers, as far as memory shows it.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kLossShiftsLabels{
    Package::transformers,
    {4, 49, 0},
    "ForCausalLMLoss pads and shifts the labels; before, it copied the float32 logits without the "
    "last position.",
    "loss/loss_utils.py:ForCausalLMLoss"};

inline constexpr Change kMasksAreShared{
    Package::transformers,
    {4, 53, 0},
    "Most models have masking_utils.py make their masks; before, each had _update_causal_mask, "
    "which made none for sdpa, and [S, S] in the model's dtype for eager attention.",
    "masking_utils.py; models/llama/modeling_llama.py:LlamaModel._update_causal_mask"};

inline constexpr Change kPackedRowsAreFound{
    Package::transformers,
    {4, 53, 2},
    "A causal mask keeps the sequences of packed rows apart, which positions tell.",
    "masking_utils.py:find_packed_sequence_indices"};

inline constexpr Change kGpt2MasksAreShared{Package::transformers,
                                            {4, 55, 0},
                                            "GPT-2 has masking_utils.py make its masks.",
                                            "models/gpt2/modeling_gpt2.py:GPT2Model.forward"};

inline constexpr Change kSdpaGroupsHeads{
    Package::transformers,
    {4, 54, 0},
    "sdpa without a mask is given keys and values as they are; before, they were repeated for each "
    "head of the queries.",
    "integrations/sdpa_attention.py:use_gqa_in_sdpa"};

inline constexpr Change kSdpaTakesAnyLayout{
    Package::transformers,
    {4, 56, 0},
    "Queries, keys and values go to sdpa as they lie; before, they were packed.",
    "integrations/sdpa_attention.py:sdpa_attention_forward"};

inline constexpr Change kUnpackedRowsAreTold{
    Package::transformers,
    {5, 0, 0},
    "Rows whose positions step by one have no packed sequences, and sdpa no mask; before, any row "
    "without a mask was taken to be packed, and a mask was made.",
    "masking_utils.py:find_packed_sequence_indices"};

inline constexpr Change kMaskIndicesBroadcast{
    Package::transformers,
    {5, 0, 0},
    "Masks are made of index tensors that broadcast; before, torch.vmap ran the index functions.",
    "masking_utils.py:_non_vmap_expansion_sdpa"};

inline constexpr Change kAllMasksAreShared{
    Package::transformers,
    {5, 0, 0},
    "The models left have masking_utils.py make their masks, too.",
    "models/falcon/modeling_falcon.py, models/opt/modeling_opt.py, models/bloom/modeling_bloom.py"};

inline constexpr Change kOriginalFrequenciesAreABuffer{
    Package::transformers,
    {5, 0, 0},
    "A rotary embedding keeps original_inv_freq as a buffer of its own, and _init_weights computes "
    "its frequencies once more; before, the two were one tensor.",
    "models/llama/modeling_llama.py:LlamaRotaryEmbedding"};

inline constexpr Change kPositionsAreAdded{
    Package::transformers,
    {5, 0, 0},
    "Positions are torch.arange(S) + past_seen_tokens; before, one arange between the two.",
    "models/llama/modeling_llama.py:LlamaModel.forward"};

inline constexpr Change kExpertsAreStacked{
    Package::transformers,
    {5, 0, 0},
    "A mixture's experts are stacked into tensors of three dimensions; before, they were a "
    "ModuleList of Linear layers that ran one after the other.",
    "models/mixtral/modeling_mixtral.py:MixtralExperts"};

}  // namespace memtape::changes
