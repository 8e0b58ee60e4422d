// SPDX-License-Identifier: Apache-2.0
// What changed between releases of transformers in one family alone, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kDeepseekV4CachesWhenAsked{
    Package::transformers,
    {5, 14, 0},
    "DeepSeek-V4 makes a cache only where use_cache asks for one; before, it always did, and where "
    "there is a cache its mask is made without a look for packed rows. It does in 5.13.1.",
    "models/deepseek_v4/modeling_deepseek_v4.py:DeepseekV4Model.forward"};

inline constexpr Change kPaliGemmaMasksAreShared{
    Package::transformers,
    {5, 0, 0},
    "PaliGemma has masking_utils.py make its masks; before, it made one of its own for every "
    "attention, with a column more than there are keys. It does in 4.57.6.",
    "models/paligemma/modeling_paligemma.py:PaliGemmaModel._update_causal_mask"};

inline constexpr Change kGptNeoHasNoMaskedBias{
    Package::transformers,
    {5, 0, 0},
    "GPT-Neo's attentions hold no number for what is masked; before, each held one. They do in "
    "4.57.6.",
    "models/gpt_neo/modeling_gpt_neo.py:GPTNeoSelfAttention.__init__"};

inline constexpr Change kCodegenAddsItsMask{
    Package::transformers,
    {5, 2, 0},
    "CodeGen adds its mask out of place; before, to the scores in place and in their dtype. It "
    "does "
    "in 5.1.0.",
    "models/codegen/modeling_codegen.py:CodeGenAttention._attn"};

inline constexpr Change kOlderMixturesCallTheInterface{
    Package::transformers,
    {5, 0, 0},
    "Attentions of OLMoE, Qwen2-MoE, Phi-3.5-MoE and Jamba call the attention function of all "
    "models; before, each had classes of its own for sdpa and for eager.",
    "models/olmoe/modeling_olmoe.py:OlmoeSdpaAttention"};

}  // namespace memtape::changes
