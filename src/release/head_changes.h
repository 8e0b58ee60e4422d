// SPDX-License-Identifier: Apache-2.0
// Since which release of transformers the heads of its models take logits_to_keep and cut their
// hidden states by it; before, they took them whole.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kCohereScalesFirst{
    Package::transformers,
    {4, 46, 0},
    "Cohere scales its logits before the loss makes float32 of them; before, behind.",
    "models/cohere/modeling_cohere.py:CohereForCausalLM.forward"};

inline constexpr Change kT5TiesItsHead{
    Package::transformers,
    {5, 0, 0},
    "T5's head is its embedding, whatever tie_word_embeddings says; before, heads of "
    "configurations that say false, as FLAN-T5's, had weights of their own.",
    "models/t5/configuration_t5.py:T5Config.__init__"};

inline constexpr Change kT5StacksMakeTables{
    Package::transformers,
    {5, 0, 0},
    "T5's stacks make embeddings, whose tables the shared one replaces; before, each was given the "
    "shared one.",
    "models/t5/modeling_t5.py:T5Stack.__init__"};

inline constexpr Change kFalconKeepsLogits{
    Package::transformers,
    {4, 47, 0},
    "Falcon's head slices the hidden states that it is given (logits_to_keep); before, it took "
    "them whole. It does not in 4.45.2 and does in 4.47.1.",
    "models/falcon/modeling_falcon.py:FalconForCausalLM.forward"};

inline constexpr Change kGraniteKeepsLogits{
    Package::transformers,
    {4, 48, 0},
    "Granite's head slices the hidden states that it is given. It does not in 4.47.1 and does in "
    "4.48.3.",
    "models/granite/modeling_granite.py:GraniteForCausalLM.forward"};

inline constexpr Change kAllModelsCallTheLoss{
    Package::transformers,
    {4, 48, 3},
    "GPT-2, OPT, BLOOM, Falcon, MPT and their like call ForCausalLMLoss, which makes float32 of "
    "their "
    "logits; before, each computed a loss in the logits' own dtype. They do not in 4.48.2 and do "
    "in 4.48.3.",
    "models/gpt2/modeling_gpt2.py:GPT2LMHeadModel.forward"};

inline constexpr Change kGptNeoXKeepsLogits{
    Package::transformers,
    {4, 49, 0},
    "GPT-NeoX's head slices the hidden states that it is given.",
    "models/gpt_neox/modeling_gpt_neox.py:GPTNeoXForCausalLM.forward"};

inline constexpr Change kIdefics3KeepsLogits{
    Package::transformers,
    {4, 50, 0},
    "Idefics3's head slices the hidden states that it is given. It does not in 4.49.0 and does in "
    "4.50.3.",
    "models/idefics3/modeling_idefics3.py:Idefics3ForConditionalGeneration.forward"};

inline constexpr Change kLlavaKeepsLogits{
    Package::transformers,
    {4, 52, 0},
    "The heads of LLaVA, PaliGemma, Mistral 3 and Granite's mixtures slice the hidden states that "
    "they are given.",
    "models/llava/modeling_llava.py:LlavaForConditionalGeneration.forward"};

inline constexpr Change kGpt2KeepsLogits{Package::transformers,
                                         {4, 53, 0},
                                         "GPT-2's head slices the hidden states that it is given.",
                                         "models/gpt2/modeling_gpt2.py:GPT2LMHeadModel.forward"};

inline constexpr Change kQwen25VlKeepsLogits{
    Package::transformers,
    {4, 54, 0},
    "Qwen2.5-VL's head slices the hidden states that it is given.",
    "models/qwen2_5_vl/modeling_qwen2_5_vl.py:Qwen2_5_VLForConditionalGeneration.forward"};

inline constexpr Change kOlderHeadsKeepLogits{
    Package::transformers,
    {5, 0, 0},
    "The heads of BLOOM, CodeGen, GPT-BigCode, GPT-J, GPT-Neo, MPT, OPT, XGLM, Mamba and Qwen2-VL "
    "slice the hidden states that they are given.",
    "models/bloom/modeling_bloom.py:BloomForCausalLM.forward"};

}  // namespace memtape::changes
